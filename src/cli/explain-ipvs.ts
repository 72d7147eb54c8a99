// What the kernel tells of a Service in IPVS mode: its virtual servers, the entries of sets that name it, how many connections each real server
// was given, and which clients stay with one.
//
//   /proc/net/ip_vs_conn   protocol, client, its port, virtual address, port, real address, port, state, …; in hex for IPv4. A line
//                          without a port of the client is what a persistent virtual server remembers of it.
import { readFileSync } from 'node:fs';
import { formatIp, hostPort, parseIp } from '../lib/ip.ts';
import type { ServicePort } from '../model/model.ts';
import type { Observations } from '../observe/trace/explain.ts';
import type { Balancer, Rule, Ruleset } from '../observe/trace/ruleset.ts';

export function ipvsObservations(rules: Ruleset, isLive: boolean): Observations {
  const memories = isLive ? memoriesIn(connectionTable()) : [];
  return {
    connections: (port, address) => {
      const counts = serversOf(port, rules)
        .flatMap(({ destinations }) => destinations)
        .filter((one) => hostPort(one.ip, one.port) === address)
        .flatMap(({ connections }) => connections ?? []);
      return counts.length === 0 ? undefined : counts.reduce((sum, count) => sum + count, 0);
    },
    remembered: (port, address) => {
      const names = new Set(serversOf(port, rules).map(({ name }) => name));
      const clients = memories.filter(({ server, endpoint }) => names.has(server) && endpoint === address);
      return [...new Set(clients.map(({ client }) => client))];
    },
    rules: (port) => [
      ...serversOf(port, rules).flatMap(({ text, destinations }) => [
        text,
        ...destinations.map((one) => `  ${one.text}`),
      ]),
      ...entriesOf(port, rules),
      ...rulesOf(port, rules),
    ],
  };
}

/** Those at its addresses; a node port has one at each address of the node. */
function serversOf({ frontends, protocol }: ServicePort, { virtualServers }: Ruleset): readonly Balancer[] {
  return [...(virtualServers?.values() ?? [])].filter(({ name }) =>
    frontends.some((frontend) =>
      frontend.kind === 'node-port'
        ? name.startsWith(`${protocol} `) && name.endsWith(`:${frontend.port}`)
        : name === `${protocol} ${hostPort(frontend.ip, frontend.port)}`,
    ),
  );
}

function entriesOf({ frontends, protocol, backends }: ServicePort, { ipSets }: Ruleset): readonly string[] {
  const starts = [
    ...frontends.flatMap((frontend) =>
      frontend.kind === 'node-port' ? [] : [`${frontend.ip},${protocol.toLowerCase()}:${frontend.port}`],
    ),
    ...backends.reachable.map(({ ip, port }) => `${ip},${protocol.toLowerCase()}:${port}`),
  ];
  const nodePorts = new Set(frontends.flatMap(({ kind, port }) => (kind === 'node-port' ? [String(port)] : [])));
  return [...(ipSets?.values() ?? [])]
    .filter(({ name }) => name.startsWith('KUBE-'))
    .flatMap(({ name, type, entries }) =>
      [...entries]
        .filter((entry) =>
          type === 'bitmap:port'
            ? name.includes(`NODE-PORT-`) && name.endsWith(`-${protocol}`) && nodePorts.has(entry)
            : starts.some((start) => entry === start || entry.startsWith(`${start},`)),
        )
        .map((entry) => `add ${name} ${entry}`),
    );
}

/** The few rules that name an address: of source ranges, and of local clients under policy Local. */
function rulesOf({ frontends, protocol }: ServicePort, { tables }: Ruleset): readonly string[] {
  const isOurs = ({ matches }: Rule): boolean =>
    frontends.some(
      ({ port, ...frontend }) =>
        matches.some((match) => match.kind === 'protocol' && match.protocol === protocol.toLowerCase()) &&
        matches.some((match) => match.kind === 'ports' && match.ranges[0]?.[0] === port) &&
        (frontend.kind === 'node-port' ||
          matches.some((match) => match.kind === 'network' && match.cidr.startsWith(`${frontend.ip}/`))),
    );
  return tables.flatMap(({ chains }) =>
    [...chains.values()]
      .filter(({ name }) => name.startsWith('KUBE-'))
      .flatMap(({ rules }) => rules.filter(isOurs).map(({ text }) => text)),
  );
}

interface Memory {
  readonly server: string;
  readonly client: string;
  readonly endpoint: string;
}

export function memoriesIn(table: string): readonly Memory[] {
  return table.split('\n').flatMap((line) => {
    const [protocol, from, fromPort, to, toPort, real, realPort] = line.trim().split(/\s+/);
    if (fromPort !== '0000' || realPort === undefined) return [];
    const [client, ip, backend] = [from, to, real].map(address);
    if (!client || !ip || !backend) return [];
    const port = (hex: string): number => Number.parseInt(hex, 16);
    return [
      { client, server: `${protocol} ${hostPort(ip, port(toPort!))}`, endpoint: hostPort(backend, port(realPort)) },
    ];
  });
}

function address(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (/^[0-9A-F]{8}$/.test(text)) return formatIp(Buffer.from(text, 'hex'));
  return parseIp(text.replace(/^\[|\]$/g, ''));
}

function connectionTable(): string {
  try {
    return readFileSync('/proc/net/ip_vs_conn', 'utf8');
  } catch {
    return ''; // the kernel has no IPVS, or does not show its connections
  }
}
