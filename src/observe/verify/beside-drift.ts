// In: two rulesets.  Out: how what stands beside their rules differs: entries of sets, addresses, virtual servers and who answers behind
// them. What was not read is not compared, and what is somebody else's is left alone.
import type { Balancer, Ruleset } from '../trace/ruleset.ts';
import type { Drift, DriftScope } from './drift.ts';
import { elementDrift } from './row-drift.ts';

export function besideDrift(planned: Ruleset, held: Ruleset, scope: DriftScope): readonly Drift[] {
  return [...setDrift(planned, held), ...addressDrift(planned, held), ...serverDrift(planned, held, scope)];
}

function setDrift({ ipSets: planned }: Ruleset, { ipSets: held }: Ruleset): readonly Drift[] {
  if (!planned || !held) return [];
  return [...planned.values()].flatMap(({ name, entries }): readonly Drift[] => {
    const there = held.get(name);
    return there
      ? elementDrift({ table: 'ipset', chain: name }, rows(entries), rows(there.entries))
      : [{ table: 'ipset', chain: 'sets', kind: 'missing-row', row: name }];
  });
}

function addressDrift({ addresses: planned }: Ruleset, { addresses: held }: Ruleset): readonly Drift[] {
  return planned && held ? elementDrift({ table: 'addresses', chain: 'kube-ipvs0' }, rows(planned), rows(held)) : [];
}

function serverDrift({ virtualServers: planned }: Ruleset, held: Ruleset, scope: DriftScope): readonly Drift[] {
  const { virtualServers: there } = held;
  if (!planned || !there) return [];
  const ours = new Map([...there].filter(([key]) => planned.has(key) || isOurs(key, held, scope)));
  const servers = elementDrift({ table: 'ip_vs', chain: 'virtual servers' }, settings(planned), settings(ours));
  const backends = [...planned].flatMap(([key, server]) => {
    const twin = there.get(key);
    return twin ? elementDrift({ table: 'ip_vs', chain: server.name }, weights(server), weights(twin)) : [];
  });
  // One that is about to go gets no new connections, and stays until its last has ended.
  const isDraining = (drift: Drift): boolean => drift.kind === 'extra-row' && drift.row.endsWith(' : -w 0');
  return [...servers, ...backends.filter((drift) => !isDraining(drift))];
}

/** Its address is there for Services, or a set names it: address and port, or the port alone, of a node port. */
function isOurs(key: string, { addresses, ipSets }: Ruleset, { isExcluded }: DriftScope): boolean {
  const [, protocol, ip, port] = /^(\S+) \[?(.+?)\]?:(\d+)$/.exec(key)!;
  if (isExcluded?.(ip!)) return false;
  if (addresses?.has(ip!)) return true;
  const nodePorts = new RegExp(`^KUBE-(6-)?NODE-PORT-${protocol}$`, 'i');
  return [...(ipSets?.values() ?? [])].some(
    ({ name, entries }) =>
      (name.startsWith('KUBE-') && entries.has(`${ip},${protocol}:${port}`)) ||
      (nodePorts.test(name) && entries.has(port!)),
  );
}

function rows(keys: Iterable<string>): ReadonlyMap<string, string> {
  return new Map([...keys].map((key) => [key, '']));
}

/** `TCP 10.96.0.1:80` : `-s rr -p 600` */
function settings(servers: ReadonlyMap<string, Balancer>): ReadonlyMap<string, string> {
  return new Map([...servers.values()].map(({ name, text }) => [name, text.replace(/^-A \S+ \S+ /, '')]));
}

/** `10.244.1.11:8080` : `-w 1` */
function weights({ destinations }: Balancer): ReadonlyMap<string, string> {
  return new Map(
    destinations.map(({ text }) => {
      const [, address, weight] = /^-r (\S+) (-w \d+)$/.exec(text)!;
      return [address!, weight!];
    }),
  );
}
