// In: a port of a service.  Out: its claims to addresses, and for each the lists of endpoints that packets may be sent to.
// Where a frontend has two lists (policy Local, and policy Cluster for clients on this node), the local one has indexes from
// LOCAL_OFFSET on.
import type { Backend, Frontend, ServicePort } from '../../model/model.ts';
import { transportOf } from './names.ts';

const LOCAL_OFFSET = 65536;

/** A frontend of a service port: who claims an address. */
export interface Claim {
  readonly port: ServicePort;
  readonly frontend: Frontend;
}

export function claimsOf(port: ServicePort): Claim[] {
  return port.frontends.map((frontend) => ({ port, frontend }));
}

/** The address a claim is about: only one claim can have it. */
export function frontendKey({ port, frontend }: Claim): string {
  const transport = transportOf(port);
  return frontend.kind === 'node-port'
    ? `${transport} . ${frontend.port}`
    : `${frontend.ip} . ${transport} . ${frontend.port}`;
}

/** Endpoints of a frontend under one policy, and where their indexes begin. */
export interface BackendList {
  readonly backends: readonly Backend[];
  readonly over: 'cluster' | 'local';
  readonly offset: number;
}

/** What most clients get, and, where it differs, what clients on this node get. Neither where nobody gets anything. */
export interface ClaimLists {
  readonly served?: BackendList;
  readonly onNode?: BackendList;
}

export function listsOf({ port, frontend }: Claim): ClaimLists {
  const { internal, external, backends } = port;
  if (frontend.kind === 'cluster-ip') {
    return internal.verdict === 'balance' ? { served: list(backends[internal.over], internal.over, 0) } : {};
  }
  if (!port.hasEndpoints) return {};
  if (!external.shortCircuitsLocalClients) return { served: list(backends[external.over], external.over, 0) };
  return {
    ...(backends.local.length > 0 && { served: list(backends.local, 'local', LOCAL_OFFSET) }),
    onNode: list(backends.cluster, 'cluster', 0),
  };
}

export function allLists(claim: Claim): BackendList[] {
  const { served, onNode } = listsOf(claim);
  if (!served) return onNode ? [onNode] : [];
  return onNode ? [served, onNode] : [served];
}

function list(backends: readonly Backend[], over: BackendList['over'], offset: number): BackendList {
  return { backends, over, offset };
}
