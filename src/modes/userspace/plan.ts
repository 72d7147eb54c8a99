// In: the NodeModel.  Out: the relays that should run, each with its backends, and the rules that lead to them, a part for each
// service.
import { isDeepStrictEqual } from 'node:util';
import type { NodeModel, ServiceModel, ServicePort } from '../../model/model.ts';
import type { UserspaceFacts } from './facts.ts';
import { portRules, type RelayList, type Rule, relayKey } from './rules.ts';

export interface UserspacePlan {
  readonly facts: UserspaceFacts;
  /** By `namespace/name`. */
  readonly services: ReadonlyMap<string, ServicePart>;
  /** The parts that this plan replaced, undefined for services that are new. */
  readonly replaced: ReadonlyMap<string, ServicePart | undefined>;
  /** True if the facts were others, so that every rule may read differently. */
  readonly hasOtherFacts: boolean;
  /** Counts up from plan to plan: a diff is only right against the plan directly before. */
  readonly generation: number;
}

export interface ServicePart {
  readonly relays: readonly RelayPlan[];
  readonly rules: readonly Rule[];
  readonly claims: readonly Claim[];
}

/** One listening socket of ours, and who answers behind it. */
export interface RelayPlan {
  readonly key: string;
  /** `shop/web:http`, for people. */
  readonly service: string;
  readonly protocol: 'TCP' | 'UDP';
  readonly backends: readonly RelayBackend[];
  /** 0: no session affinity. */
  readonly affinityTimeoutSeconds: number;
}

export interface RelayBackend {
  readonly ip: string;
  readonly port: number;
  /** `ip:port` */
  readonly address: string;
}

/** A port that rules take away from the node's own programs, held so that none of them believes to have it. */
export interface Claim {
  /** Undefined: on all addresses. */
  readonly ip: string | undefined;
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP';
  readonly owner: string;
}

export function plan(model: NodeModel, facts: UserspaceFacts, previous?: UserspacePlan): UserspacePlan {
  const hasOtherFacts = previous !== undefined && !isDeepStrictEqual(previous.facts, facts);
  const isFresh = previous === undefined || model.isFresh || hasOtherFacts;
  const services = (previous?.services ?? new Map()) as Map<string, ServicePart>;
  const replaced = new Map<string, ServicePart | undefined>();
  for (const name of isFresh ? new Set([...services.keys(), ...model.services.keys()]) : model.changed) {
    replaced.set(name, services.get(name));
    const service = model.services.get(name);
    if (service) services.set(name, servicePart(service, facts));
    else services.delete(name);
  }
  return { facts, services, replaced, hasOtherFacts, generation: (previous?.generation ?? 0) + 1 };
}

function servicePart(service: ServiceModel, facts: UserspaceFacts): ServicePart {
  const ports = service.ports.filter(isRelayed);
  return {
    relays: ports.flatMap(relaysOf),
    rules: ports.flatMap((port) => portRules(port, facts)),
    claims: ports.flatMap(claimsOf),
  };
}

type RelayedPort = ServicePort & { readonly protocol: 'TCP' | 'UDP' };

/** Node has no SCTP sockets, and upstream never relayed it either. */
export function isRelayed(port: ServicePort): port is RelayedPort {
  return port.protocol !== 'SCTP';
}

/** One relay for each list that some frontend uses: most service ports have one, those with a Local policy up to two. */
function relaysOf(port: RelayedPort): RelayPlan[] {
  const { displayName, protocol, internal, external, backends, affinityTimeoutSeconds } = port;
  const lists = new Set<RelayList>([internal.over]);
  if (port.isExternallyAccessible) lists.add(external.over);
  if (port.isExternallyAccessible && external.shortCircuitsLocalClients) lists.add('cluster');
  return [...lists].map((list) => ({
    key: relayKey(port, list),
    service: displayName,
    protocol,
    backends: backends[list].map(({ ip, port, address }) => ({ ip, port, address })),
    affinityTimeoutSeconds,
  }));
}

/** Node ports always; other addresses are claimed only where they are the node's own, which the claiming finds out. */
function claimsOf({ frontends, protocol, displayName }: RelayedPort): Claim[] {
  return frontends.map((frontend) => ({
    ip: frontend.kind === 'node-port' ? undefined : frontend.ip,
    port: frontend.port,
    protocol,
    owner: displayName,
  }));
}
