// In: one port of a service and one of its addresses.  Out: its rows, and the chains that these lead to.
// A frontend has its own rows for every endpoint, so that nothing stands between dialling an address and the endpoint but
// one look into a map.
import type { ServicePort } from '../../model/model.ts';
import { learnChains, learnRows, stickChain } from './affinity.ts';
import { allLists, type BackendList, type Claim, frontendKey, listsOf } from './claims.ts';
import { displayComment, firewallChain, pickChain, transportOf } from './names.ts';
import { type ChainPlan, drop, type Row, rule } from './rules.ts';
import { endpointMap } from './sets.ts';

/** Rows of one claim alone. */
export function rowsOf(claim: Claim): Row[] {
  const rows = claim.frontend.kind === 'cluster-ip' ? internalRows(claim) : externalRows(claim);
  for (const list of allLists(claim)) rows.push(...endpointRows(claim, list));
  if (claim.port.affinityTimeoutSeconds > 0) rows.push(...learnRows(claim));
  return rows;
}

function internalRows(claim: Claim): Row[] {
  const key = frontendKey(claim);
  const comment = displayComment(claim.port);
  const { served } = listsOf(claim);
  if (served) return [{ set: 'service-ips', key, value: leadTo(claim, served), comment }];
  return [{ set: 'no-endpoint-services', key, value: missing(claim.port.internal.verdict), comment }];
}

function externalRows(claim: Claim): Row[] {
  const { port, frontend } = claim;
  const isNodePort = frontend.kind === 'node-port';
  const key = frontendKey(claim);
  const comment = displayComment(port);
  const { served, onNode } = listsOf(claim);
  const rows: Row[] = [];
  if (hasFirewall(claim))
    rows.push({ set: 'firewall-ips', key, value: `goto ${firewallChain(admitted(port))}`, comment });
  if (port.external.verdict !== 'balance') {
    const set = isNodePort ? 'no-endpoint-nodeports' : 'no-endpoint-services';
    rows.push({ set, key, value: missing(port.external.verdict), comment });
  }
  if (!served && !onNode) return rows;

  const before = onNode ? `short-circuit${isNodePort ? '-nodeports' : ''}` : 'mark-for-masquerade';
  rows.push({ set: isNodePort ? 'external-nodeports' : 'external-ips', key, value: `jump ${before}` });
  // Without local endpoints the packet is done here, and is dropped once it is known where it goes.
  const value = served ? leadTo(claim, served) : 'return';
  rows.push({ set: isNodePort ? 'service-nodeports' : 'service-ips', key, value, comment });
  if (onNode) {
    rows.push({
      set: isNodePort ? 'cluster-policy-nodeports' : 'cluster-policy-ips',
      key,
      value: leadTo(claim, onNode),
    });
  }
  return rows;
}

function missing(verdict: ServicePort['internal']['verdict']): string {
  return verdict === 'reject' ? 'goto reject-chain' : 'drop';
}

/** One for each endpoint of a list, in its order. */
export function endpointRows({ port, frontend }: Claim, { backends, offset }: BackendList): Row[] {
  const isNodePort = frontend.kind === 'node-port';
  const set = endpointMap(transportOf(port), isNodePort);
  const start = isNodePort ? `${frontend.port}` : `${frontend.ip} . ${frontend.port}`;
  return backends.map(({ ip, port: number }, i) => ({
    set,
    key: `${start} . ${offset + i}`,
    value: `${ip} . ${number}`,
  }));
}

/** The verdict of a frontend's row. */
function leadTo(claim: Claim, list: BackendList): string {
  const pick = pickFrom(claim, list).name;
  return `goto ${claim.port.affinityTimeoutSeconds > 0 ? stickChain(claim, list, pick).name : pick}`;
}

// There are few of them, and thousands of claims ask for the same one.
const picks = new Map<string, ChainPlan>();

function pickFrom({ port, frontend }: Claim, { backends, offset }: BackendList): ChainPlan {
  const transport = transportOf(port);
  const isNodePort = frontend.kind === 'node-port';
  const count = backends.length;
  const name = pickChain({ transport, isNodePort, isSecondList: offset > 0 }, count);
  const known = picks.get(name);
  if (known) return known;
  const fields = isNodePort ? (['dport'] as const) : (['daddr', 'dport'] as const);
  const map = endpointMap(transport, isNodePort);
  const chain = { name, rules: [rule({ kind: 'pick', transport, fields, count, offset, map })] };
  picks.set(name, chain);
  return chain;
}

/** Chains that a claim's rows lead to; other claims may need the same. */
export function chainsOf(claim: Claim): ChainPlan[] {
  const isSticky = claim.port.affinityTimeoutSeconds > 0;
  const chains = allLists(claim).flatMap((list) => {
    const pick = pickFrom(claim, list);
    return isSticky ? [pick, stickChain(claim, list, pick.name)] : [pick];
  });
  if (isSticky) chains.push(...learnChains(claim));
  if (hasFirewall(claim)) chains.push(firewallFor(claim.port));
  return chains;
}

function hasFirewall({ port, frontend }: Claim): boolean {
  return frontend.kind === 'load-balancer-ip' && port.sourceRanges.length > 0;
}

function firewallFor(port: ServicePort): ChainPlan {
  const networks = admitted(port);
  const isForeign = { kind: 'in-networks', field: 'saddr', networks, isNegated: true } as const;
  return { name: firewallChain(networks), rules: [rule(isForeign, drop)] };
}

/** Some clouds make traffic of the node itself appear to come from the load balancer's address. */
function admitted({ sourceRanges, sourceRangesIncludeNode, frontends }: ServicePort): readonly string[] {
  if (!sourceRangesIncludeNode) return sourceRanges;
  const ips = frontends.flatMap((frontend) => (frontend.kind === 'load-balancer-ip' ? [frontend.ip] : []));
  return [...sourceRanges, ...ips];
}

/** Rows that several ports may have in common: they stay until the last one goes. */
export function sharedRowsOf(port: ServicePort): Row[] {
  const transport = transportOf(port);
  const clusterIps = port.frontends.flatMap((frontend) =>
    frontend.kind === 'cluster-ip' ? [{ set: 'cluster-ips', key: frontend.ip }] : [],
  );
  const hairpins = port.backends.reachable
    .filter(({ isLocal }) => isLocal)
    .map(({ ip, port: number }) => ({ set: 'hairpin-connections', key: `${ip} . ${ip} . ${transport} . ${number}` }));
  return [...clusterIps, ...hairpins];
}
