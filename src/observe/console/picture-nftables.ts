// In: a service port.  Out: the picture of nftables mode: an address leads to a chain that picks one of its rows at random, and
// each row is an endpoint.
import type { Family } from '../../lib/ip.ts';
import type { ServicePort } from '../../model/model.ts';
import { type BackendList, type Claim, claimsOf, listsOf } from '../../modes/nftables/claims.ts';
import { pickChain, transportOf } from '../../modes/nftables/names.ts';
import { ruleText } from '../../modes/nftables/print.ts';
import { chainsOf, rowsOf } from '../../modes/nftables/rows.ts';
import type { Row } from '../../modes/nftables/rules.ts';
import { endpointCounter, frontendKey } from './frontend-key.ts';
import { endpointNode, frontendNode } from './picture-nodes.ts';
import type { Picture, PictureEdge, PictureNode } from './shapes.ts';

export function nftablesPicture(port: ServicePort): Picture {
  const claims = claimsOf(port);
  const parts = claims.map(claimPart);
  const ends = [...new Set(parts.flatMap(({ edges }) => edges.map(({ to }) => to)))].filter(
    (to) => to === 'reject' || to === 'drop',
  );
  return {
    nodes: [
      ...claims.map(({ frontend }) => frontendNode(port, frontend)),
      ...parts.flatMap(({ chains }) => chains),
      ...port.backends.reachable.map((backend) => endpointNode(backend, undefined)),
      ...ends.map((verdict) => ({ kind: 'end' as const, id: verdict, verdict })),
    ],
    edges: parts.flatMap(({ edges }) => edges),
  };
}

/** The port's rules in nft's words. */
export function nftablesRules(port: ServicePort, family: Family): readonly string[] {
  return claimsOf(port).flatMap((claim) => [
    ...rowsOf(claim).map(rowText),
    ...chainsOf(claim).flatMap(({ name, rules }) => rules.map((rule) => `chain ${name}: ${ruleText(rule, family)}`)),
  ]);
}

function rowText({ set, key, value, comment }: Row): string {
  const about = comment === undefined ? '' : ` comment "${comment}"`;
  return `${set}: ${key}${about}${value === undefined ? '' : ` : ${value}`}`;
}

function claimPart(claim: Claim): { readonly chains: readonly PictureNode[]; readonly edges: readonly PictureEdge[] } {
  const { port, frontend } = claim;
  const from = frontendKey(port, frontend);
  const rows = rowsOf(claim);
  const { served, onNode } = listsOf(claim);
  const lists = [
    ...(served ? [{ list: served, condition: onNode && 'from outside' }] : []),
    ...(onNode ? [{ list: onNode, condition: 'pods and processes of this node' }] : []),
  ];
  const parts = lists.map(({ list, condition }) => listPart(claim, list, rows, condition));
  const { verdict } = frontend.kind === 'cluster-ip' ? port.internal : port.external;
  return {
    chains: parts.map(({ chain }) => chain),
    edges: [
      ...parts.flatMap(({ edges }) => edges),
      ...(verdict === 'balance' ? [] : [verdictEdge(from, verdict, rows, onNode && 'from outside')]),
    ],
  };
}

function listPart(
  { port, frontend }: Claim,
  { backends, over, offset }: BackendList,
  rows: readonly Row[],
  condition: string | undefined,
): { readonly chain: PictureNode; readonly edges: readonly PictureEdge[] } {
  const from = frontendKey(port, frontend);
  const id = `${from} ${over}`;
  const isEndpoints = ({ set }: Row): boolean => /^(nodeport-)?endpoints-/.test(set);
  const own = rows.filter(
    (row) => isEndpoints(row) && indexOf(row) >= offset && indexOf(row) < offset + backends.length,
  );
  const chain: PictureNode = {
    kind: 'chain',
    id,
    name: pickChain(
      { transport: transportOf(port), isNodePort: frontend.kind === 'node-port', isSecondList: offset > 0 },
      backends.length,
    ),
    role: over === 'local' ? `1 of ${backends.length} of this node` : `1 of ${backends.length} at random`,
  };
  const lead = rows.filter(({ set }) => /^(service|cluster-policy)-/.test(set));
  const edges: PictureEdge[] = [
    {
      id: `${from}>${id}`,
      from,
      to: id,
      share: undefined,
      probability: condition === undefined ? 1 : undefined,
      condition,
      rules: lead.map(rowText),
      counter: from,
    },
    ...backends.map((backend, i) => ({
      id: `${id}>${backend.address}`,
      from: id,
      to: backend.address,
      share: backends.length === 1 ? undefined : `1/${backends.length}`,
      probability: 1 / backends.length,
      condition: undefined,
      rules: own[i] ? [rowText(own[i])] : [],
      counter: endpointCounter(from, backend.address),
    })),
  ];
  return { chain, edges };
}

function indexOf({ key }: Row): number {
  return Number(key.slice(key.lastIndexOf(' ') + 1));
}

function verdictEdge(
  from: string,
  verdict: 'reject' | 'drop',
  rows: readonly Row[],
  condition: string | undefined,
): PictureEdge {
  const rules = rows.filter(({ set }) => set.startsWith('no-endpoint-')).map(rowText);
  return {
    id: `${from}>${verdict}`,
    from,
    to: verdict,
    share: undefined,
    probability: undefined,
    condition,
    rules,
    counter: undefined,
  };
}
