// In: a service port.  Out: its picture in a mode without a chain for each service (IPVS, userspace): an address, who shares its
// connections out, and the endpoints.
import type { Backend, Frontend, ServicePort } from '../../model/model.ts';
import { frontendKey } from './frontend-key.ts';
import { endpointNode, frontendNode } from './picture-nodes.ts';
import type { Picture, PictureEdge, PictureNode } from './shapes.ts';

/** `by`: who shares connections out, `IPVS`. */
export function plainPicture(port: ServicePort, by: string): Picture {
  const parts = port.frontends.map((frontend) => frontendPart(port, frontend, by));
  const edges = parts.flatMap((part) => part.edges);
  const ends = (['reject', 'drop'] as const).filter((verdict) => edges.some(({ to }) => to === verdict));
  return {
    nodes: [
      ...port.frontends.map((frontend) => frontendNode(port, frontend)),
      ...parts.flatMap(({ chains }) => chains),
      ...port.backends.reachable.map((backend) => endpointNode(backend, undefined)),
      ...ends.map((verdict) => ({ kind: 'end' as const, id: verdict, verdict })),
    ],
    edges,
  };
}

function frontendPart(
  port: ServicePort,
  frontend: Frontend,
  by: string,
): { readonly chains: readonly PictureNode[]; readonly edges: readonly PictureEdge[] } {
  const from = frontendKey(port, frontend);
  const { over, verdict, shortCircuitsLocalClients } = frontend.kind === 'cluster-ip' ? port.internal : port.external;
  const lists: { readonly backends: readonly Backend[]; readonly condition: string | undefined }[] = [];
  const outside = shortCircuitsLocalClients ? 'from outside' : undefined;
  if (verdict === 'balance') lists.push({ backends: port.backends[over], condition: outside });
  if (shortCircuitsLocalClients && port.backends.cluster.length > 0)
    lists.push({ backends: port.backends.cluster, condition: 'pods and processes of this node' });
  const chains = lists.map(
    ({ backends }, i): PictureNode => ({
      kind: 'chain',
      id: `${from} ${i}`,
      name: by,
      role: `shares out to ${backends.length}`,
    }),
  );
  return {
    chains,
    edges: [
      ...lists.flatMap(({ backends, condition }, i) => [
        plainEdge(from, `${from} ${i}`, undefined, condition),
        ...backends.map(({ address }) => plainEdge(`${from} ${i}`, address, backends.length, undefined)),
      ]),
      ...(verdict === 'balance' ? [] : [plainEdge(from, verdict, undefined, outside)]),
    ],
  };
}

function plainEdge(from: string, to: string, among: number | undefined, condition: string | undefined): PictureEdge {
  return {
    id: `${from}>${to}`,
    from,
    to,
    share: among !== undefined && among > 1 ? `1/${among}` : undefined,
    probability: among === undefined ? undefined : 1 / among,
    condition,
    rules: [],
    counter: undefined,
  };
}
