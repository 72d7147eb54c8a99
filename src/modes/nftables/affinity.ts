// Session affinity. A client is remembered when its packet has been translated: a later hook sees where it was sent and notes
// client and endpoint in a map of that service port, for as long as the affinity lasts. A client that is noted is sent there
// again, whichever address of the service it dials. Where a port's endpoints listen on several ports there is a map for each,
// and where its frontends choose from two lists, a map for each list.
import type { NftSet } from '../../kernel/nftables-objects.ts';
import type { Family } from '../../lib/ip.ts';
import type { Backend, ServicePort } from '../../model/model.ts';
import { allLists, type BackendList, type Claim, frontendKey } from './claims.ts';
import { type AffinityList, affinityName, learnChainName, stickChainName, transportOf } from './names.ts';
import { type ChainPlan, goto, type Row, rule } from './rules.ts';
import { affinityMap } from './sets.ts';

/** In front of a pick: clients that are known go where they went. */
export function stickChain({ port, frontend }: Claim, list: BackendList, pick: string): ChainPlan {
  const transport = transportOf(port);
  const isNodePort = frontend.kind === 'node-port';
  const sticks = targetPorts(list.backends).map((targetPort) =>
    rule({ kind: 'stick', transport, map: affinityName(port, list.over, targetPort), port: targetPort }),
  );
  const name = stickChainName(port, { over: list.over, isNodePort, isSecondList: list.offset > 0 });
  return { name, rules: [...sticks, rule(goto(pick))] };
}

/** Frontend and endpoint together say which note to make. */
export function learnRows(claim: Claim): Row[] {
  const set = claim.frontend.kind === 'node-port' ? 'learn-nodeports' : 'learn-ips';
  const start = frontendKey(claim);
  return learntBackends(claim).map((backend) => ({
    set,
    key: `${start} . ${backend.ip} . ${backend.port}`,
    value: `goto ${learnChainName(claim.port, listsWith(claim.port, backend), backend.port)}`,
  }));
}

/** The chains that make notes: in the map of every list that the endpoint is in. */
export function learnChains(claim: Claim): ChainPlan[] {
  const { port } = claim;
  const chains = new Map<string, ChainPlan>();
  for (const backend of learntBackends(claim)) {
    const lists = listsWith(port, backend);
    const name = learnChainName(port, lists, backend.port);
    if (chains.has(name)) continue;
    const timeoutSeconds = port.affinityTimeoutSeconds;
    const maps = lists.map((list) => affinityName(port, list, backend.port));
    chains.set(name, { name, rules: maps.map((map) => rule({ kind: 'learn', map, timeoutSeconds })) });
  }
  return [...chains.values()];
}

/** An endpoint in both lists of a frontend counts once. */
function learntBackends(claim: Claim): Backend[] {
  const all = allLists(claim).flatMap(({ backends }) => backends);
  return [...new Map(all.map((backend) => [backend.address, backend])).values()];
}

/** A port's map, and the addresses that may stand in it. */
export interface AffinityPlan {
  readonly set: NftSet;
  readonly ips: ReadonlySet<string>;
}

export function affinityMaps(port: ServicePort, family: Family): AffinityPlan[] {
  if (port.affinityTimeoutSeconds === 0) return [];
  return LISTS.flatMap((list) =>
    targetPorts(port.backends[list]).map((targetPort) => {
      const backends = port.backends[list].filter((backend) => backend.port === targetPort);
      const set = affinityMap(family, affinityName(port, list, targetPort));
      return { set, ips: new Set(backends.map(({ ip }) => ip)) };
    }),
  );
}

const LISTS: readonly AffinityList[] = ['cluster', 'local'];

function listsWith({ backends }: ServicePort, { address }: Backend): AffinityList[] {
  return LISTS.filter((list) => backends[list].some((backend) => backend.address === address));
}

function targetPorts(backends: readonly Backend[]): number[] {
  return [...new Set(backends.map(({ port }) => port))].sort((a, b) => a - b);
}
