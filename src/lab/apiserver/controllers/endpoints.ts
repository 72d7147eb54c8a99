// Endpoints, the older form of EndpointSlices: one object per Service, of its primary family. kubectl still shows them.
import type { Family } from '../../../lib/ip.ts';
import { microTimestamp, sameJson } from '../object.ts';
import { matchesEqualitySelector } from '../selectors.ts';
import type { EndpointAddress, EndpointPort, EndpointSubset, Endpoints, Pod, Service } from '../types.ts';
import type { World } from '../world.ts';
import { type Controller, ownKey, splitKey } from './controller.ts';
import { podIp, portsFor } from './endpoint.ts';
import { servicesOf } from './endpoint-slices.ts';
import { HEADLESS, TRIGGER_TIME } from './labels.ts';
import { add, all, drop, find, replace } from './objects.ts';
import { isPodFinished, isPodReady, isPodTerminating } from './pod-state.ts';

const MANAGED_BY = 'endpoints.kubernetes.io/managed-by';
const MANAGER = 'endpoint-controller';

export function endpointsController(world: World): Controller {
  return {
    watches: { services: ownKey, pods: (change) => servicesOf(world, change) },
    reconcile(key) {
      const { namespace, name } = splitKey(key);
      const service = find<Service>(world, 'services', namespace, name);
      const held = find<Endpoints>(world, 'endpoints', namespace, name);
      if (!service) {
        if (held) drop(world, 'endpoints', held);
        return;
      }
      // Without a selector the object belongs to whoever wrote it.
      if (Object.keys(service.spec.selector ?? {}).length === 0 || service.spec.type === 'ExternalName') return;
      writeEndpoints(world, service, held, subsetsFor(world, service));
    },
  };
}

function subsetsFor(world: World, service: Service): EndpointSubset[] {
  const family = (service.spec.ipFamilies?.[0] ?? 'IPv4') as Family;
  const subsets = new Map<string, { ports: EndpointPort[]; ready: EndpointAddress[]; notReady: EndpointAddress[] }>();
  const publishesAll = service.spec.publishNotReadyAddresses === true;
  for (const pod of all<Pod>(world, 'pods', service.metadata.namespace)) {
    const ip = podIp(pod, family);
    const isOurs = matchesEqualitySelector(service.spec.selector ?? {}, pod.metadata.labels ?? {});
    if (!isOurs || ip === undefined || isPodFinished(pod) || (isPodTerminating(pod) && !publishesAll)) continue;
    const ports = portsFor(service, pod);
    const key = JSON.stringify(ports);
    const subset = subsets.get(key) ?? { ports, ready: [], notReady: [] };
    (publishesAll || isPodReady(pod) ? subset.ready : subset.notReady).push(addressOf(pod, ip));
    subsets.set(key, subset);
  }
  return [...subsets.values()].map(({ ports, ready, notReady }) => ({
    ...(ready.length > 0 && { addresses: ready.sort(byIp) }),
    ...(notReady.length > 0 && { notReadyAddresses: notReady.sort(byIp) }),
    ports: ports.map(({ name, port = 0, protocol = 'TCP' }) => ({ ...(name && { name }), port, protocol })),
  }));
}

function addressOf({ metadata, spec }: Pod, ip: string): EndpointAddress {
  const { namespace, name, uid } = metadata;
  return {
    ip,
    ...(spec.nodeName && { nodeName: spec.nodeName }),
    targetRef: { kind: 'Pod', ...(namespace && { namespace }), name, ...(uid && { uid }) },
  };
}

function byIp(a: EndpointAddress, b: EndpointAddress): number {
  return a.ip < b.ip ? -1 : 1;
}

function writeEndpoints(world: World, service: Service, held: Endpoints | undefined, subsets: EndpointSubset[]): void {
  const labels = {
    ...service.metadata.labels,
    [MANAGED_BY]: MANAGER,
    ...(service.spec.clusterIP === 'None' && { [HEADLESS]: '' }),
  };
  if (held && sameJson(held.subsets ?? [], subsets) && sameJson(held.metadata.labels ?? {}, labels)) return;
  const { namespace, name } = service.metadata;
  const wanted: Endpoints = {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: {
      ...held?.metadata,
      name,
      ...(namespace && { namespace }),
      labels,
      annotations: { [TRIGGER_TIME]: microTimestamp(world.now()) },
    },
    ...(subsets.length > 0 && { subsets }),
  };
  if (held) replace(world, 'endpoints', wanted);
  else add(world, 'endpoints', wanted);
}
