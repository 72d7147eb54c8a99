// In: a Snapshot and who this node is.  Out: the NodeModel.
// Only the services that the snapshot names as changed are resolved; all others are taken over from the model before.
import type { Service, ServicePortSpec } from '../api/objects.ts';
import { cidrContains, type Family } from '../lib/ip.ts';
import type { Snapshot } from '../track/snapshot.ts';
import { type BackendChoice, backendsFor } from './backends.ts';
import { type EndpointsByPort, endpointsByPort } from './endpoints.ts';
import type { Frontend, LocalLack, NodeModel, PolicySide, ServiceModel, ServicePort, TrafficClass } from './model.ts';

/** Who this node is, as far as the choice of endpoints depends on it. The zone comes with the snapshot's Node. */
export interface NodeIdentity {
  readonly nodeName: string;
  /** This node's address of the family; source ranges that contain it admit the node itself. */
  readonly nodeIPs: Readonly<Record<Family, string>>;
  /** Feature gate AllowServiceExternalIPs. */
  readonly allowsExternalIPs: boolean;
}

/** Takes over the unchanged services of `previous`, which must not be used afterwards. */
export function resolveNode(snapshot: Snapshot, identity: NodeIdentity, previous?: NodeModel): NodeModel {
  const isFresh = snapshot.isFresh || previous === undefined;
  const services = isFresh ? new Map<string, ServiceModel>() : (previous.services as Map<string, ServiceModel>);
  const names = isFresh ? snapshot.services.keys() : snapshot.changed;
  const changed = new Set(isFresh ? previous?.services.keys() : undefined);
  let changedUdp = isFresh;
  const totals = isFresh ? emptyTotals() : totalsOf(previous);

  for (const name of names) {
    const before = services.get(name);
    const after = resolveService(name, snapshot, identity);
    if (!before && !after) continue;
    changed.add(name);
    changedUdp ||= hasUdp(before) || hasUdp(after);
    if (before) count(totals, name, before, -1);
    if (after) count(totals, name, after, 1);
    if (after) services.set(name, after);
    else services.delete(name);
  }
  return {
    family: snapshot.family,
    services,
    changed,
    changedUdp,
    isFresh,
    serviceCIDRs: snapshot.serviceCIDRs,
    ...totals,
  };
}

function hasUdp(service: ServiceModel | undefined): boolean {
  return service?.ports.some(({ protocol }) => protocol === 'UDP') ?? false;
}

/** What is known of all services together, kept up to date service by service. */
interface Totals {
  endpointCount: number;
  withoutLocalEndpoints: Record<PolicySide, LocalLack>;
  healthChecked: Map<string, ServiceModel>;
}

function emptyTotals(): Totals {
  const none = { ports: 0, services: 0 };
  return { endpointCount: 0, withoutLocalEndpoints: { internal: none, external: none }, healthChecked: new Map() };
}

function totalsOf({ endpointCount, withoutLocalEndpoints, healthChecked }: NodeModel): Totals {
  return {
    endpointCount,
    withoutLocalEndpoints: { ...withoutLocalEndpoints },
    healthChecked: healthChecked as Map<string, ServiceModel>,
  };
}

function count(totals: Totals, name: string, service: ServiceModel, by: 1 | -1): void {
  totals.endpointCount += by * service.endpointCount;
  for (const side of ['internal', 'external'] as const) {
    const lacking = service.ports.filter((port) => port[side].verdict === 'drop').length;
    const { ports, services } = totals.withoutLocalEndpoints[side];
    if (lacking > 0) totals.withoutLocalEndpoints[side] = { ports: ports + by * lacking, services: services + by };
  }
  if (service.healthCheckNodePort === 0) return;
  if (by === 1) totals.healthChecked.set(name, service);
  else totals.healthChecked.delete(name);
}

function resolveService(name: string, snapshot: Snapshot, identity: NodeIdentity): ServiceModel | undefined {
  const service = snapshot.services.get(name);
  const clusterIP = service?.clusterIPs[snapshot.family];
  if (!service || clusterIP === undefined) return undefined;

  const endpoints = endpointsByPort(snapshot.slices.get(name), snapshot.family, identity.nodeName);
  const node = { name: identity.nodeName, zone: snapshot.node?.zone ?? '', ip: identity.nodeIPs[snapshot.family] };
  const ports = service.ports
    .map((port) => resolvePort(service, port, clusterIP, snapshot.family, endpoints, node, identity.allowsExternalIPs))
    .sort((a, b) => compareText(a.portName, b.portName) || compareText(a.protocol, b.protocol));
  return {
    namespace: service.namespace,
    name: service.name,
    uid: service.uid,
    ports,
    healthCheckNodePort: service.healthCheckNodePort,
    localReadyEndpoints: localReadyEndpoints(endpoints),
    endpointCount: ports.reduce((sum, port) => sum + endpoints.get(port.portName, port.protocol).length, 0),
  };
}

function resolvePort(
  service: Service,
  port: ServicePortSpec,
  clusterIP: string,
  family: Family,
  endpoints: EndpointsByPort,
  node: { readonly name: string; readonly zone: string; readonly ip: string },
  allowsExternalIPs: boolean,
): ServicePort {
  const externalIPs = service.externalIPs[family];
  const loadBalancerIPs = service.loadBalancerIPs[family];
  const isExternallyAccessible = port.nodePort !== 0 || loadBalancerIPs.length > 0 || externalIPs.length > 0;
  const all = endpoints.get(port.name, port.protocol);
  const choice = backendsFor(all, {
    usesCluster: !service.internalTrafficPolicyLocal || isExternallyAccessible,
    usesLocal: service.internalTrafficPolicyLocal || (service.externalTrafficPolicyLocal && isExternallyAccessible),
    nodeName: node.name,
    zone: node.zone,
  });
  const sourceRanges = service.loadBalancerSourceRanges[family];
  return {
    displayName: `${service.namespace}/${service.name}${port.name === '' ? '' : `:${port.name}`}`,
    namespace: service.namespace,
    serviceName: service.name,
    portName: port.name,
    protocol: port.protocol,
    frontends: frontends(clusterIP, allowsExternalIPs ? externalIPs : [], loadBalancerIPs, port),
    internal: trafficClass(service.internalTrafficPolicyLocal, choice, false),
    external: trafficClass(service.externalTrafficPolicyLocal, choice, service.externalTrafficPolicyLocal),
    hasEndpoints: choice.hasEndpoints,
    isExternallyAccessible,
    backends: { cluster: choice.cluster, local: choice.local, reachable: choice.reachable },
    affinityTimeoutSeconds: service.affinityTimeoutSeconds,
    sourceRanges,
    sourceRangesIncludeNode: sourceRanges.some((range) => cidrContains(range, node.ip)),
    healthCheckNodePort: service.healthCheckNodePort,
    leftOut: choice.leftOut,
    serving:
      port.protocol === 'UDP'
        ? all.filter((endpoint) => endpoint.serving).map((endpoint) => endpoint.backend.address)
        : [],
  };
}

function frontends(
  clusterIP: string,
  externalIPs: readonly string[],
  loadBalancerIPs: readonly string[],
  { port, nodePort }: ServicePortSpec,
): readonly Frontend[] {
  return [
    { kind: 'cluster-ip', ip: clusterIP, port },
    ...externalIPs.map((ip) => ({ kind: 'external-ip', ip, port }) as const),
    ...loadBalancerIPs.map((ip) => ({ kind: 'load-balancer-ip', ip, port }) as const),
    ...(nodePort === 0 ? [] : [{ kind: 'node-port', port: nodePort } as const]),
  ];
}

function trafficClass(
  isLocal: boolean,
  { hasEndpoints, local }: BackendChoice,
  shortCircuitsLocalClients: boolean,
): TrafficClass {
  const over = isLocal ? 'local' : 'cluster';
  if (!hasEndpoints) return { over, verdict: 'reject', shortCircuitsLocalClients };
  return { over, verdict: isLocal && local.length === 0 ? 'drop' : 'balance', shortCircuitsLocalClients };
}

/** Distinct addresses, over all ports: an endpoint with two ports is one endpoint. */
function localReadyEndpoints(endpoints: EndpointsByPort): number {
  const ips = new Set<string>();
  for (const list of endpoints.values()) {
    for (const { ready, backend } of list) if (ready && backend.isLocal) ips.add(backend.ip);
  }
  return ips.size;
}

/** Plain code-unit order: never the locale's. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
