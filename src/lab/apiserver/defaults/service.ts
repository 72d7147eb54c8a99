// What the server adds to a Service that its author left out, and what it takes away when a Service changes its type.
import { sameJson } from '../object.ts';
import type { Service, ServiceSpec } from '../types.ts';

export function fillService({ spec, status }: Service, before: Service | undefined): void {
  spec.type ??= 'ClusterIP';
  spec.sessionAffinity ??= 'None';
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
  if (spec.sessionAffinity === 'ClientIP') {
    spec.sessionAffinityConfig ??= {};
    spec.sessionAffinityConfig.clientIP ??= {};
    spec.sessionAffinityConfig.clientIP.timeoutSeconds ??= 10800;
  }
  for (const port of spec.ports ?? []) {
    port.protocol ??= 'TCP';
    port.targetPort ??= port.port;
  }
  if (before) dropOutdated(spec, before.spec);
  if (isExternallyAccessible(spec)) spec.externalTrafficPolicy ??= 'Cluster';
  if (spec.type !== 'ExternalName') spec.internalTrafficPolicy ??= 'Cluster';
  if (spec.type === 'LoadBalancer') spec.allocateLoadBalancerNodePorts ??= true;
  for (const ingress of status?.loadBalancer?.ingress ?? []) if (ingress.ip) ingress.ipMode ??= 'VIP';
}

/** A patch that changes only the type carries along what the old type had. Where it is unchanged, nobody asked for it. */
function dropOutdated(spec: ServiceSpec, before: ServiceSpec): void {
  if (hasNodePorts(before) && !hasNodePorts(spec)) {
    const held = new Set((before.ports ?? []).map(({ nodePort }) => nodePort));
    for (const port of spec.ports ?? []) if (held.has(port.nodePort)) delete port.nodePort;
  }
  const dropUnchanged = (applies: (spec: ServiceSpec) => boolean, ...fields: (keyof ServiceSpec)[]) => {
    if (!applies(before) || applies(spec)) return;
    for (const field of fields) if (sameJson(spec[field], before[field])) delete spec[field];
  };
  dropUnchanged(hasClusterIp, 'clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy');
  dropUnchanged(isLoadBalancer, 'allocateLoadBalancerNodePorts', 'loadBalancerClass');
  dropUnchanged(isExternallyAccessible, 'externalTrafficPolicy');
  dropUnchanged((s) => isLoadBalancer(s) && s.externalTrafficPolicy === 'Local', 'healthCheckNodePort');
}

function hasNodePorts({ type }: ServiceSpec): boolean {
  return type === 'NodePort' || type === 'LoadBalancer';
}

function hasClusterIp({ type }: ServiceSpec): boolean {
  return type !== 'ExternalName';
}

function isLoadBalancer({ type }: ServiceSpec): boolean {
  return type === 'LoadBalancer';
}

export function isExternallyAccessible(spec: ServiceSpec): boolean {
  return hasNodePorts(spec) || (spec.type === 'ClusterIP' && (spec.externalIPs ?? []).length > 0);
}
