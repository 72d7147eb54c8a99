// Whose turn it is to be checked, in one family. A check takes some Services at a time, by name, until all had their turn and a
// new round begins; those in which something was wrong are asked again each time, so that what is known of them stays true.
import type { NodeModel, ServiceModel, ServicePort } from '../model/model.ts';
import { addressOf } from '../observe/trace/frontends.ts';

/** How much one check takes on. */
export interface CheckSize {
  readonly services: number;
  readonly endpoints: number;
}

/** What is wrong with one Service. */
export interface Finding {
  /** `shop/cart` */
  readonly service: string;
  readonly mismatches: number;
  /** `shop/cart: cluster-ip 10.96.0.1:80/tcp from a pod here: …` */
  readonly first: string;
}

export class CheckTurns {
  /** Names that wait for their turn in this round, the last one first. */
  #waiting: string[] = [];
  readonly #findings = new Map<string, Finding>();

  /** At least one Service, however many endpoints it has. */
  next({ services }: NodeModel, size: CheckSize): ReadonlySet<string> {
    const turn = new Set<string>();
    let endpoints = 0;
    const take = (name: string): void => {
      const service = services.get(name);
      if (!service || turn.has(name)) return;
      turn.add(name);
      endpoints += service.endpointCount;
    };
    const hasRoom = (part: number): boolean =>
      turn.size === 0 || (turn.size < size.services * part && endpoints < size.endpoints * part);
    // Where much is wrong, half of a check is left for the others.
    for (const name of this.#findings.keys()) if (hasRoom(1 / 2)) take(name);
    if (this.#waiting.length === 0) this.#waiting = [...services.keys()].sort().reverse();
    while (this.#waiting.length > 0 && hasRoom(1)) take(this.#waiting.pop()!);
    return turn;
  }

  /** `found`: of those that were asked. True if some are right again while others, of which that is not known, wait to be asked. */
  note({ services }: NodeModel, asked: ReadonlySet<string>, found: readonly Finding[]): boolean {
    const wrong = new Set(found.map(({ service }) => service));
    let isAnyMended = false;
    for (const name of asked) if (this.#findings.delete(name) && !wrong.has(name)) isAnyMended = true;
    for (const name of this.#findings.keys()) if (!services.has(name)) this.#findings.delete(name);
    const areOthersLeft = this.#findings.size > 0;
    for (const finding of found) this.#findings.set(finding.service, finding);
    return isAnyMended && areOthersLeft;
  }

  /** What is wrong, as far as it is known. */
  get findings(): readonly Finding[] {
    return [...this.#findings.values()];
  }
}

/** The model as if there were no others. An address that is claimed twice is left out: objects do not say who should have it. */
export function partOf(model: NodeModel, names: ReadonlySet<string>): NodeModel {
  const some = new Map([...model.services].filter(([name]) => names.has(name)));
  const contested = contestedAddresses(model, some);
  const services = new Map(Array.from(some, ([name, service]) => [name, uncontested(service, contested)]));
  return { ...model, services, changed: new Set(), isFresh: true, healthChecked: new Map() };
}

type Services = NodeModel['services'];

function contestedAddresses({ services }: NodeModel, some: Services): ReadonlySet<string> {
  const claimants = new Map<string, ServicePort>();
  for (const { address, port } of claimsOf(some)) claimants.set(address, port);
  const contested = new Set<string>();
  for (const { address, port } of claimsOf(services)) {
    const claimant = claimants.get(address);
    if (claimant && claimant !== port) contested.add(address);
  }
  return contested;
}

function* claimsOf(services: Services): Generator<{ readonly address: string; readonly port: ServicePort }> {
  for (const { ports } of services.values()) {
    for (const port of ports) for (const frontend of port.frontends) yield { address: addressOf(port, frontend), port };
  }
}

function uncontested(service: ServiceModel, contested: ReadonlySet<string>): ServiceModel {
  if (contested.size === 0) return service;
  const ports = service.ports.map((port) => ({
    ...port,
    frontends: port.frontends.filter((frontend) => !contested.has(addressOf(port, frontend))),
  }));
  return { ...service, ports };
}
