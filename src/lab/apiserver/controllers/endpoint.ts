// One pod as an endpoint of one Service. Pure.
import { type Family, familyOf } from '../../../lib/ip.ts';
import type { KubeObject } from '../object.ts';
import type { EndpointPort, Node, Pod, Service, SliceEndpoint } from '../types.ts';
import { isPodReady, isPodTerminating } from './pod-state.ts';

const ZONE_LABEL = 'topology.kubernetes.io/zone';

/** Undefined: the pod has no address of this family yet. */
export function sliceEndpoint(
  service: Service,
  pod: Pod,
  node: Node | undefined,
  family: string,
): SliceEndpoint | undefined {
  const ip = podIp(pod, family as Family);
  if (ip === undefined) return undefined;
  const { namespace, name, uid } = pod.metadata;
  const zone = node && zoneOf(node);
  const conditions = endpointConditions(service, pod);
  const endpoint: SliceEndpoint = {
    addresses: [ip],
    conditions,
    ...(pod.spec.hostname && pod.spec.subdomain === service.metadata.name && { hostname: pod.spec.hostname }),
    targetRef: { kind: 'Pod', ...(namespace && { namespace }), name, ...(uid && { uid }) },
    ...(pod.spec.nodeName && { nodeName: pod.spec.nodeName }),
    ...(zone && { zone }),
  };
  const hints = conditions.ready ? hintsFor(service.spec.trafficDistribution, endpoint) : undefined;
  return hints ? { ...endpoint, hints } : endpoint;
}

export function zoneOf({ metadata }: KubeObject): string | undefined {
  return metadata.labels?.[ZONE_LABEL];
}

export function podIp({ status }: Pod, family: Family): string | undefined {
  const ips = status?.podIPs?.map(({ ip }) => ip) ?? (status?.podIP ? [status.podIP] : []);
  return ips.find((ip) => familyOf(ip) === family);
}

/** For compatibility a terminating pod is never ready, unless the Service publishes pods that are not. */
function endpointConditions(service: Service, pod: Pod): { ready: boolean; serving: boolean; terminating: boolean } {
  const serving = isPodReady(pod);
  const terminating = isPodTerminating(pod);
  return { ready: service.spec.publishNotReadyAddresses === true || (serving && !terminating), serving, terminating };
}

/** Who should prefer this endpoint: those nearby. */
function hintsFor(distribution: string | undefined, { zone, nodeName }: SliceEndpoint): SliceEndpoint['hints'] {
  if (distribution === undefined || !zone) {
    return distribution === 'PreferSameNode' && nodeName ? { forNodes: [{ name: nodeName }] } : undefined;
  }
  const forZones = [{ name: zone }];
  return distribution === 'PreferSameNode' && nodeName ? { forZones, forNodes: [{ name: nodeName }] } : { forZones };
}

/** The Service's ports as this pod has them; a named target port the pod does not have is left out. */
export function portsFor({ spec }: Service, pod: Pod): EndpointPort[] {
  return (spec.ports ?? []).flatMap(({ name = '', protocol = 'TCP', appProtocol, targetPort, port }) => {
    const number = typeof targetPort === 'string' ? namedPort(pod, targetPort, protocol) : (targetPort ?? port);
    return number === undefined ? [] : [{ name, protocol, port: number, ...(appProtocol && { appProtocol }) }];
  });
}

function namedPort({ spec }: Pod, name: string, protocol: string): number | undefined {
  const ports = spec.containers.flatMap((container) => container.ports ?? []);
  return ports.find((port) => port.name === name && (port.protocol ?? 'TCP') === protocol)?.containerPort;
}
