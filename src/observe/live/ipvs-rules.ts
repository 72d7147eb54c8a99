// IPVS mode as the walker takes it: rules, and beside them sets, addresses and virtual servers; planned, or read over netlink.
import { type HeldSet, IpSets } from '../../kernel/ipset.ts';
import { entryText } from '../../kernel/ipset-codec.ts';
import { Ipvs } from '../../kernel/ipvs.ts';
import {
  IP_VS_SVC_F_PERSISTENT,
  type RealServer,
  type RealServerState,
  type VirtualServer,
} from '../../kernel/ipvs-codec.ts';
import { Links } from '../../kernel/links.ts';
import { type Family, familyOf, hostPort } from '../../lib/ip.ts';
import { boundAddresses } from '../../modes/ipvs/apply.ts';
import type { IpvsPlan } from '../../modes/ipvs/plan.ts';
import { print, serverLines } from '../../modes/ipvs/print.ts';
import { kernelName, kernelSets } from '../../modes/ipvs/sets.ts';
import { parseIptablesSave } from '../trace/iptables-save.ts';
import { type Balancer, type Beside, balancerKey, type IpSet, type Ruleset } from '../trace/ruleset.ts';
import { type Concern, isConcerned } from './concern.ts';

export function plannedIpvs(plan: IpvsPlan): Ruleset {
  const { family } = plan.facts;
  const text = print(plan);
  const entries = Map.groupBy(plan.wanted.entries.values(), ({ set }) => kernelName(set, family));
  const sets = kernelSets(family).map(
    ({ name, type }): HeldSet => ({ name, type, entries: (entries.get(name) ?? []).map(({ entry }) => entry) }),
  );
  const servers = [...plan.wanted.servers.values()].map(({ backends, ...server }) => ({
    server,
    backends: backends.map((backend) => ({ ...backend, weight: 1 })),
  }));
  return {
    ...parseIptablesSave(text.slice(text.indexOf('*nat')), family),
    ...besideOf(sets, servers, [...plan.wanted.addresses.values()]),
  };
}

/** The sockets over which the kernel is asked. */
export interface IpvsSockets {
  readonly ipvs: Ipvs;
  readonly sets: IpSets;
  readonly links: Links;
}

/** Of this host. A kernel without IPVS has no virtual servers. `concern`: those of others are left out. */
export async function heldIpvs(family: Family, concern?: Concern): Promise<Beside> {
  const [ipvs, sets, links] = [await Ipvs.open(), new IpSets(), new Links()];
  try {
    return await besideRules({ ipvs, sets, links }, family, concern);
  } finally {
    ipvs?.close();
    sets.close();
    links.close();
  }
}

export async function besideRules(
  { ipvs, sets, links }: Omit<IpvsSockets, 'ipvs'> & { readonly ipvs: Ipvs | undefined },
  family: Family,
  concern?: Concern,
): Promise<Beside> {
  const servers: HeldServer[] = [];
  for (const server of (await ipvs?.servers()) ?? []) {
    if (familyOf(server.ip) !== family || (concern && !isConcerned(concern, server.ip, server.port))) continue;
    servers.push({ server, backends: await ipvs!.backends(server) });
  }
  return besideOf(await sets.list(), servers, await boundAddresses(links, family));
}

export interface HeldServer {
  readonly server: VirtualServer;
  readonly backends: readonly CountedServer[];
}

type CountedServer = RealServer & Pick<RealServerState, 'givenConnections'>;

export function besideOf(
  sets: readonly HeldSet[],
  servers: readonly HeldServer[],
  addresses: readonly string[],
): Beside {
  return {
    ipSets: new Map(sets.map((set) => [set.name, ipSet(set)])),
    virtualServers: new Map(
      servers.map(({ server, backends }) => [
        balancerKey(server.protocol, hostPort(server.ip, server.port)),
        virtualServer(server, backends),
      ]),
    ),
    addresses: new Set(addresses),
  };
}

function ipSet({ name, type, entries }: HeldSet): IpSet {
  return { name, type, entries: new Set(entries.map(entryText)) };
}

/** Those that take turns, or come to the same over time. Of these, the first two do not ask how large a weight is. */
const UNWEIGHTED = new Set(['rr', 'lc']);
const WEIGHTED = new Set(['wrr', 'wlc', 'sed', 'nq', 'twos']);

function virtualServer(server: VirtualServer, backends: readonly CountedServer[]): Balancer {
  const { scheduler, flags, protocol } = server;
  return {
    name: `${protocol} ${hostPort(server.ip, server.port)}`,
    text: serverLines({ ...server, backends: [] })[0]!,
    destinations: backends.map(({ ip, port, weight, givenConnections }) => ({
      ip,
      port,
      weight: UNWEIGHTED.has(scheduler) ? Math.min(weight, 1) : weight,
      text: `-r ${hostPort(ip, port)} -w ${weight}`,
      ...(givenConnections !== undefined && { connections: givenConnections }),
    })),
    isSticky: (flags & IP_VS_SVC_F_PERSISTENT) !== 0,
    ...(!UNWEIGHTED.has(scheduler) && !WEIGHTED.has(scheduler) && { chosenBy: `scheduler ${scheduler}` }),
    without: { kind: 'reject', with: 'port-unreachable' },
  };
}
