// In: what the kernel holds, and the plan.  Out: the steps that lead from one to the other, in an order in which no client
// meets a half-made service: servers and entries, then rules, then the address that makes packets come; and back again. Where the
// rules take the place of another mode's, the address comes before them.

import { entryText, type SetEntry } from '../../kernel/ipset-codec.ts';
import type { RealServer, RealServerState, ServerKey, VirtualServer } from '../../kernel/ipvs-codec.ts';
import { cidrContains } from '../../lib/ip.ts';
import { type HeldChains, JUMPS, LOCAL_CLIENTS_CHAIN, restoreLines } from './chains.ts';
import { type Address, serverKey, type WantedEntry, type WantedServer } from './part.ts';
import { entryKey, type IpvsPlan } from './plan.ts';
import { inSafeOrder, type SetName } from './sets.ts';

/** What was read of the kernel, in one family. */
export interface IpvsState extends HeldChains {
  readonly kind: 'read';
  readonly servers: readonly HeldServer[];
  /** By the name a plan calls it; sets that do not exist are absent. */
  readonly sets: ReadonlyMap<SetName, readonly SetEntry[]>;
  /** On kube-ipvs0. */
  readonly addresses: readonly string[];
}

export interface HeldServer {
  readonly server: VirtualServer;
  readonly backends: readonly RealServerState[];
}

export type IpvsStep =
  | { readonly kind: 'prepare' } // device and sets exist from here on
  | { readonly kind: 'add-server' | 'set-server'; readonly server: VirtualServer }
  | { readonly kind: 'delete-server'; readonly server: ServerKey }
  | {
      readonly kind: 'add-backend' | 'set-backend' | 'remove-backend';
      readonly server: ServerKey;
      readonly backend: RealServer;
    }
  | { readonly kind: 'add-entry' | 'delete-entry'; readonly set: SetName; readonly entry: SetEntry }
  | { readonly kind: 'add-address' | 'delete-address'; readonly ip: string }
  | { readonly kind: 'restore'; readonly lines: readonly string[] };

export interface IpvsChange {
  readonly isFull: boolean;
  readonly steps: readonly IpvsStep[];
}

/** A backend in use. Balancing by weight is not Kubernetes' way, so there is one weight. */
const WEIGHT = 1;

export function diff(held: IpvsState | IpvsPlan, plan: IpvsPlan): IpvsChange {
  if ('kind' in held) return { isFull: true, steps: fullSteps(held, plan) };
  if (held.generation !== plan.generation - 1) throw new Error('the plan was not made from the plan that is held');
  return { isFull: false, steps: partialSteps(plan) };
}

function partialSteps({ differences, rules }: IpvsPlan): IpvsStep[] {
  const { servers, entries, addresses } = differences;
  const steps = new OrderedSteps();
  for (const { before, after } of servers) {
    const held = before && {
      server: before,
      backends: before.backends.map((address) => ({ ...address, weight: WEIGHT })),
    };
    if (after) steps.changeServer(held, after);
    else steps.deletedServers.push({ kind: 'delete-server', server: keyOf(before!) });
  }
  for (const { before, after } of entries) steps.changeEntry(before, after);
  for (const { key, after } of addresses) steps.changeAddress(key, after !== undefined);
  if (differences.rules) steps.restore = restoreLines(rules, true, () => []);
  return steps.inOrder();
}

function fullSteps(held: IpvsState, plan: IpvsPlan): IpvsStep[] {
  const { wanted, rules, facts } = plan;
  const steps = new OrderedSteps();
  steps.prepare = true;
  const heldServers = new Map(held.servers.map((server) => [serverKey(server.server), server]));
  for (const server of wanted.servers.values()) steps.changeServer(heldServers.get(serverKey(server)), server);
  const isOurs = ownership(held);
  for (const { server } of held.servers) {
    const isExcluded = facts.excludeCIDRs.some((cidr) => cidrContains(cidr, server.ip));
    if (wanted.servers.get(serverKey(server)) || isExcluded || !isOurs(server)) continue;
    steps.deletedServers.push({ kind: 'delete-server', server: keyOf(server) });
  }

  const heldEntries = new Set<string>();
  for (const [set, entries] of held.sets) {
    for (const entry of entries) {
      const key = entryKey({ set, entry });
      heldEntries.add(key);
      if (!wanted.entries.get(key)) steps.changeEntry({ set, entry }, undefined);
    }
  }
  for (const entry of wanted.entries.values()) {
    if (!heldEntries.has(entryKey(entry))) steps.changeEntry(undefined, entry);
  }

  const bound = new Set(held.addresses);
  for (const ip of wanted.addresses.values()) if (!bound.has(ip)) steps.changeAddress(ip, true);
  for (const ip of bound) if (wanted.addresses.get(ip) === undefined) steps.changeAddress(ip, false);

  const hadLocalClients = held.chains.nat.has(LOCAL_CLIENTS_CHAIN);
  steps.restore = restoreLines(rules, hadLocalClients, (table) =>
    JUMPS.flatMap(({ table: of, from, rule }, i) => (of !== table || held.jumps.has(i) ? [] : [`-I ${from} ${rule}`])),
  );
  steps.replacesOthers = isOfAnotherMode(held);
  return steps.inOrder();
}

/** Modes share a chain; that it stands without one that only we have tells whose it is. */
function isOfAnotherMode({ chains }: HeldChains): boolean {
  return chains.nat.has('KUBE-SERVICES') && !chains.filter.has('KUBE-IPVS-FILTER');
}

/** Whose is a virtual server? Ours are those on kube-ipvs0's addresses and those that our sets name; whatever else runs on
 *  this host is not touched. */
export function ownership({ sets, addresses }: Pick<IpvsState, 'sets' | 'addresses'>): (server: ServerKey) => boolean {
  const bound = new Set(addresses);
  const named = new Set<string>();
  for (const set of ['CLUSTER-IP', 'EXTERNAL-IP', 'EXTERNAL-IP-LOCAL', 'LOAD-BALANCER', 'NODE-PORT-SCTP-HASH'] as const)
    for (const entry of sets.get(set) ?? []) named.add(entryText(entry));
  const nodePorts = new Set<string>();
  for (const protocol of ['TCP', 'UDP'] as const)
    for (const { port } of sets.get(`NODE-PORT-${protocol}`) ?? []) nodePorts.add(`${protocol} ${port}`);
  return (server) => {
    const { protocol, ip, port } = server;
    return bound.has(ip) || nodePorts.has(`${protocol} ${port}`) || named.has(entryText({ ip, protocol, port }));
  };
}

class OrderedSteps {
  prepare = false;
  /** The rules overwrite those of another mode, which lead packets away before anybody asks whose address they have: until
   *  then our addresses do no harm, and from then on they are needed. */
  replacesOthers = false;
  restore: readonly string[] | undefined;
  readonly servers: IpvsStep[] = [];
  readonly removedBackends: IpvsStep[] = [];
  readonly deletedServers: IpvsStep[] = [];
  readonly #addedEntries: WantedEntry[] = [];
  readonly #deletedEntries: WantedEntry[] = [];
  readonly #addedAddresses: IpvsStep[] = [];
  readonly #deletedAddresses: IpvsStep[] = [];

  changeServer(
    held: { server: VirtualServer; backends: readonly RealServer[] } | undefined,
    wanted: WantedServer,
  ): void {
    const { backends, ...server } = wanted;
    if (!held) this.servers.push({ kind: 'add-server', server });
    else if (!sameServer(held.server, server)) this.servers.push({ kind: 'set-server', server });
    const key = keyOf(server);
    const present = new Map(held?.backends.map((backend) => [addressKey(backend), backend]));
    for (const address of backends) {
      const before = present.get(addressKey(address));
      present.delete(addressKey(address));
      const backend = { ...address, weight: WEIGHT };
      if (!before) this.servers.push({ kind: 'add-backend', server: key, backend });
      else if (before.weight !== WEIGHT) this.servers.push({ kind: 'set-backend', server: key, backend });
    }
    for (const { ip, port } of present.values())
      this.removedBackends.push({ kind: 'remove-backend', server: key, backend: { ip, port, weight: 0 } });
  }

  changeEntry(before: WantedEntry | undefined, after: WantedEntry | undefined): void {
    if (after) this.#addedEntries.push(after);
    else if (before) this.#deletedEntries.push(before);
  }

  changeAddress(ip: string, isWanted: boolean): void {
    if (isWanted) this.#addedAddresses.push({ kind: 'add-address', ip });
    else this.#deletedAddresses.push({ kind: 'delete-address', ip });
  }

  inOrder(): IpvsStep[] {
    const step =
      (kind: 'add-entry' | 'delete-entry') =>
      (entry: WantedEntry): IpvsStep => ({ kind, ...entry });
    const rules: IpvsStep[] = this.restore ? [{ kind: 'restore', lines: this.restore }] : [];
    const addresses = this.#addedAddresses;
    return [
      ...(this.prepare ? [{ kind: 'prepare' } as const] : []),
      ...this.servers,
      ...inSafeOrder(this.#addedEntries).map(step('add-entry')),
      ...(this.replacesOthers ? [...addresses, ...rules] : [...rules, ...addresses]),
      ...this.removedBackends,
      ...this.#deletedAddresses,
      ...this.deletedServers,
      ...inSafeOrder(this.#deletedEntries).reverse().map(step('delete-entry')),
    ];
  }
}

function sameServer(a: VirtualServer, b: VirtualServer): boolean {
  // The kernel keeps a timeout for servers that are not persistent, too, and gives it a value of its own.
  const sameTimeout = a.timeoutSeconds === b.timeoutSeconds || (b.flags & 1) === 0;
  return a.scheduler === b.scheduler && a.flags === b.flags && sameTimeout;
}

function keyOf({ protocol, ip, port }: ServerKey): ServerKey {
  return { protocol, ip, port };
}

function addressKey({ ip, port }: Address): string {
  return `${ip} ${port}`;
}
