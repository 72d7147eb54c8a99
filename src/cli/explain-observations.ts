// What the kernel tells of a Service besides what its rules do: their text, how often each endpoint was chosen, and who is remembered.
import { readFileSync } from 'node:fs';
import { runProcess } from '../kernel/process.ts';
import type { Family } from '../lib/ip.ts';
import type { ServicePort } from '../model/model.ts';
import { endpointChain, serviceChains } from '../modes/iptables/names.ts';
import { affinityName, TABLE_NAME } from '../modes/nftables/names.ts';
import type { Observations } from '../observe/trace/explain.ts';
import type { ElementSet, Ruleset } from '../observe/trace/ruleset.ts';
import { ipvsObservations } from './explain-ipvs.ts';
import { userspaceObservations } from './explain-userspace.ts';
import type { FamilySituation } from './trace-situation.ts';

export async function observationsOf(here: FamilySituation, mode: string, family: Family): Promise<Observations> {
  const rules = here.held ?? here.planned;
  switch (mode) {
    case 'nftables':
      return nftablesObservations(rules);
    case 'ipvs':
      return ipvsObservations(rules, here.isLive);
    case 'userspace':
      return userspaceObservations(rules);
    default:
      return iptablesObservations(rules, here.isLive, family);
  }
}

async function iptablesObservations(rules: Ruleset, isLive: boolean, family: Family): Promise<Observations> {
  const counts = isLive ? await countedRules(family) : new Map<string, number>();
  return {
    connections: (port, address) => counts.get(endpointChain(port, address)),
    remembered: (port, address) => (isLive ? rememberedIn(endpointChain(port, address)) : []),
    rules: (port) => chainRules(port, rules),
  };
}

/** How often each endpoint's chain has translated: nat rules see the first packet of a connection alone. */
async function countedRules(family: Family): Promise<ReadonlyMap<string, number>> {
  const program = family === 'IPv4' ? 'iptables-save' : 'ip6tables-save';
  const { stdout } = await runProcess(program, ['-c', '-t', 'nat']);
  const counts = stdout.matchAll(/^\[(\d+):\d+\] -A (\S+) .*-j DNAT/gm);
  return new Map([...counts].map(([, packets, chain]) => [chain!, Number(packets)]));
}

/** The kernel's list of recent clients of one endpoint. It also keeps some whose time is over, until the list is asked again. */
function rememberedIn(list: string): readonly string[] {
  try {
    return [...readFileSync(`/proc/net/xt_recent/${list}`, 'utf8').matchAll(/^src=(\S+)/gm)].map(
      ([, client]) => client!,
    );
  } catch {
    return []; // there is no list as long as no rule asks for one
  }
}

/** Its own chains, and the rules in shared chains that lead there or refuse for it. */
function chainRules(port: ServicePort, { tables }: Ruleset): readonly string[] {
  const own = new Set<string>([
    ...Object.values(serviceChains(port)),
    ...port.backends.reachable.map(({ address }) => endpointChain(port, address)),
  ]);
  const comment = `"${port.displayName} `;
  return tables.flatMap(({ chains }) =>
    [...chains.values()].flatMap(({ name, rules }) =>
      rules
        .filter(
          ({ text, statements }) =>
            own.has(name) ||
            statements.some((statement) => 'chain' in statement && own.has(statement.chain)) ||
            text.includes(comment),
        )
        .map(({ text }) => text),
    ),
  );
}

function nftablesObservations({ tables }: Ruleset): Observations {
  const sets = tables.find(({ name, origin }) => name === TABLE_NAME && origin === 'nftables')?.sets;
  const all = [...(sets?.values() ?? [])];
  return {
    connections: (port, address) => connectionsTo(port, address, all),
    remembered: (port, address) => {
      const backend = port.backends.reachable.find((one) => one.address === address)!;
      const lists = (['cluster', 'local'] as const).flatMap(
        (list) => sets?.get(affinityName(port, list, backend.port)) ?? [],
      );
      const clients = lists.flatMap(({ elements }) => [...elements].filter(([, ip]) => ip === backend.ip));
      return [...new Set(clients.map(([client]) => client))];
    },
    rules: (port) =>
      all.flatMap((set) => rowsOf(port, set).map(([key, value]) => `${set.name}: ${key}${value && ` : ${value}`}`)),
  };
}

/** Rows of a service begin with one of its frontends: address and port, or protocol and node port. */
function rowsOf(port: ServicePort, { elements }: ElementSet): readonly (readonly [string, string])[] {
  const protocol = port.protocol.toLowerCase();
  const starts = port.frontends.flatMap((frontend) =>
    frontend.kind === 'node-port'
      ? [`${protocol} . ${frontend.port}`, `${frontend.port} . `]
      : [`${frontend.ip} . ${protocol} . ${frontend.port}`, `${frontend.ip} . ${frontend.port} . `],
  );
  return [...elements].filter(([key]) => starts.some((start) => key === start || key.startsWith(start)));
}

function connectionsTo(port: ServicePort, address: string, sets: readonly ElementSet[]): number | undefined {
  const backend = port.backends.reachable.find((one) => one.address === address)!;
  const counted = sets.flatMap((set) =>
    rowsOf(port, set)
      .filter(([, value]) => value === `${backend.ip} . ${backend.port}`)
      .flatMap(([key]) => set.packets.get(key) ?? []),
  );
  return counted.length === 0 ? undefined : counted.reduce((sum, packets) => sum + packets, 0);
}
