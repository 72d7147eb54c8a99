// In: all endpoints of one service port, and who this node is.  Out: its backends, and why the others were left out.
// Traffic policy, topology and termination meet here and nowhere else.
import type { MergedEndpoint } from './endpoints.ts';
import type { Backend, BackendLists, LeftOut, LeftOutReason } from './model.ts';

export interface BackendChoice extends BackendLists {
  readonly hasEndpoints: boolean;
  readonly leftOut: readonly LeftOut[];
}

export interface ChoiceInput {
  /** True if some frontend chooses from the whole cluster. */
  readonly usesCluster: boolean;
  /** True if some frontend chooses from this node alone. */
  readonly usesLocal: boolean;
  readonly nodeName: string;
  readonly zone: string;
}

export function backendsFor(endpoints: readonly MergedEndpoint[], input: ChoiceInput): BackendChoice {
  if (endpoints.length === 0) return NOTHING;
  const topology = input.usesCluster ? topologyOf(endpoints, input) : ANYWHERE;
  const cluster = input.usesCluster ? clusterList(endpoints, topology) : [];
  const local = input.usesLocal ? localList(endpoints) : [];
  const reachable = union(endpoints, cluster, local);
  const hasEndpoints =
    cluster.length > 0 || (input.usesLocal && endpoints.some((endpoint) => endpoint.ready || isLastResort(endpoint)));
  return {
    cluster: backendsOf(cluster),
    local: backendsOf(local),
    reachable: backendsOf(reachable),
    hasEndpoints,
    leftOut: reachable.length === endpoints.length ? [] : leftOut(endpoints, new Set(reachable), topology, input),
  };
}

const NOTHING: BackendChoice = { cluster: [], local: [], reachable: [], hasEndpoints: false, leftOut: [] };

/** Ready endpoints that the topology allows; where there is none, those that still serve while they terminate, anywhere. */
function clusterList(endpoints: readonly MergedEndpoint[], topology: Topology): readonly MergedEndpoint[] {
  const ready = endpoints.filter((endpoint) => endpoint.ready && topology.allows(endpoint));
  return ready.length > 0 ? ready : endpoints.filter(isLastResort);
}

/** The same among the endpoints on this node. Hints are about other nodes, so they have no say here. */
function localList(endpoints: readonly MergedEndpoint[]): readonly MergedEndpoint[] {
  const local = endpoints.filter((endpoint) => endpoint.backend.isLocal);
  const ready = local.filter((endpoint) => endpoint.ready);
  return ready.length > 0 ? ready : local.filter(isLastResort);
}

function isLastResort(endpoint: MergedEndpoint): boolean {
  return !endpoint.ready && endpoint.serving && endpoint.terminating;
}

interface Topology {
  allows(endpoint: MergedEndpoint): boolean;
  /** Why those are left out that it does not allow. */
  readonly reason: LeftOutReason;
}

const ANYWHERE: Topology = { allows: () => true, reason: 'not-local' };

/** Hints count only if every ready endpoint has one and one of them is for us, so that they never leave nobody. */
function topologyOf(endpoints: readonly MergedEndpoint[], { nodeName, zone }: ChoiceInput): Topology {
  const ready = endpoints.filter((endpoint) => endpoint.ready);
  const isHinted = (hintsOf: (endpoint: MergedEndpoint) => readonly string[], wanted: string): boolean =>
    ready.every((endpoint) => hintsOf(endpoint).length > 0) &&
    ready.some((endpoint) => hintsOf(endpoint).includes(wanted));

  if (isHinted(({ nodeHints }) => nodeHints, nodeName))
    return { allows: ({ nodeHints }) => nodeHints.includes(nodeName), reason: 'other-node' };
  if (isHinted(({ zoneHints }) => zoneHints, zone))
    return { allows: ({ zoneHints }) => zoneHints.includes(zone), reason: 'other-zone' };
  return ANYWHERE;
}

function union(
  endpoints: readonly MergedEndpoint[],
  cluster: readonly MergedEndpoint[],
  local: readonly MergedEndpoint[],
): readonly MergedEndpoint[] {
  if (local.length === 0) return cluster;
  if (cluster.length === 0) return local;
  const chosen = new Set([...cluster, ...local]);
  return endpoints.filter((endpoint) => chosen.has(endpoint));
}

function leftOut(
  endpoints: readonly MergedEndpoint[],
  used: ReadonlySet<MergedEndpoint>,
  topology: Topology,
  { usesCluster }: ChoiceInput,
): readonly LeftOut[] {
  return endpoints
    .filter((endpoint) => !used.has(endpoint))
    .map((endpoint) => {
      const { address, nodeName, target, slice } = endpoint.backend;
      return { address, nodeName, target, slice, reason: reasonFor(endpoint, topology, usesCluster) };
    });
}

function reasonFor(endpoint: MergedEndpoint, topology: Topology, usesCluster: boolean): LeftOutReason {
  if (!endpoint.ready && !isLastResort(endpoint)) return 'not-ready';
  if (!usesCluster && !endpoint.backend.isLocal) return 'not-local';
  return endpoint.ready ? topology.reason : 'terminating';
}

function backendsOf(endpoints: readonly MergedEndpoint[]): readonly Backend[] {
  return endpoints.map(({ backend }) => backend);
}
