// EndpointSlices of Services that select pods: which addresses stand behind a Service, and in which state they are.
import { copy, type KubeObject, microTimestamp, sameJson } from '../object.ts';
import { matchesEqualitySelector } from '../selectors.ts';
import type { Change } from '../store.ts';
import type { EndpointPort, EndpointSlice, Node, Pod, Service, SliceEndpoint } from '../types.ts';
import type { World } from '../world.ts';
import { type Controller, ownKey, splitKey } from './controller.ts';
import { portsFor, sliceEndpoint, zoneOf } from './endpoint.ts';
import { HEADLESS, SERVICE_NAME, SLICE_MANAGED_BY, TRIGGER_TIME } from './labels.ts';
import { add, all, drop, find, ownerReference, replace } from './objects.ts';
import { isPodFinished } from './pod-state.ts';

const MANAGER = 'endpointslice-controller.k8s.io';
const MOST_PER_SLICE = 100;

export function endpointSliceController(world: World): Controller {
  return {
    watches: {
      services: ownKey,
      pods: (change) => servicesOf(world, change),
      endpointslices: ({ now }) => {
        const { labels = {}, namespace } = now.object.metadata;
        return labels[SLICE_MANAGED_BY] === MANAGER ? [`${namespace}/${labels[SERVICE_NAME]}`] : [];
      },
      // The zone of an endpoint is its node's.
      nodes: ({ now, before }) =>
        zoneOf(now.object) === (before && zoneOf(before.object)) ? [] : all<Service>(world, 'services').map(keyOf),
    },
    reconcile(key) {
      const { namespace, name } = splitKey(key);
      const held = all<EndpointSlice>(world, 'endpointslices', namespace).filter(
        ({ metadata }) => metadata.labels?.[SERVICE_NAME] === name && metadata.labels[SLICE_MANAGED_BY] === MANAGER,
      );
      const service = find<Service>(world, 'services', namespace, name);
      const selects =
        service && service.spec.type !== 'ExternalName' && Object.keys(service.spec.selector ?? {}).length > 0;
      if (!service || !selects) {
        for (const slice of held) drop(world, 'endpointslices', slice);
        return;
      }
      writeSlices(world, service, held, wantedGroups(world, service));
    },
  };
}

/** The Services whose selector matched a pod before a change, or matches it now. */
export function servicesOf(world: World, { now, before }: Change): readonly string[] {
  const labels = [now, before].flatMap((stored) => (stored ? [stored.object.metadata.labels ?? {}] : []));
  return all<Service>(world, 'services', now.object.metadata.namespace)
    .filter(({ spec }) => labels.some((set) => matchesEqualitySelector(spec.selector ?? {}, set)))
    .map(keyOf);
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** Endpoints of one family whose pods have the same ports; a named target port may differ from pod to pod. */
interface Group {
  readonly addressType: string;
  readonly ports: EndpointPort[];
  readonly endpoints: SliceEndpoint[];
}

function wantedGroups(world: World, service: Service): Group[] {
  const groups = new Map<string, Group>();
  const pods = all<Pod>(world, 'pods', service.metadata.namespace).filter(
    (pod) => !isPodFinished(pod) && matchesEqualitySelector(service.spec.selector ?? {}, pod.metadata.labels ?? {}),
  );
  for (const family of service.spec.ipFamilies ?? []) {
    for (const pod of pods) {
      const node = find<Node>(world, 'nodes', undefined, pod.spec.nodeName ?? '');
      const endpoint = sliceEndpoint(service, pod, node, family);
      if (!endpoint) continue;
      const ports = portsFor(service, pod);
      const key = `${family} ${JSON.stringify(ports)}`;
      const group = groups.get(key) ?? { addressType: family, ports, endpoints: [] };
      group.endpoints.push(endpoint);
      groups.set(key, group);
    }
    // A Service without pods still has a slice, so that consumers know it was looked at.
    if (![...groups.values()].some(({ addressType }) => addressType === family)) {
      groups.set(family, { addressType: family, ports: [], endpoints: [] });
    }
  }
  return [...groups.values()];
}

function writeSlices(world: World, service: Service, held: readonly EndpointSlice[], groups: readonly Group[]): void {
  const unused = new Set(held);
  for (const group of groups) {
    const mine = held.filter(
      (slice) => slice.addressType === group.addressType && sameJson(slice.ports ?? [], group.ports),
    );
    for (const slice of mine) unused.delete(slice);
    const parts = distribute(group.endpoints, mine);
    for (const [i, endpoints] of parts.entries()) {
      const slice = mine[i];
      if (slice && endpoints.length === 0 && parts.length > 1) drop(world, 'endpointslices', slice);
      else writeSlice(world, service, slice, { ...group, endpoints });
    }
  }
  for (const slice of unused) drop(world, 'endpointslices', slice);
}

/** Endpoints stay in the slice they are in, so that a change touches few slices; new ones go where there is room. */
function distribute(endpoints: readonly SliceEndpoint[], slices: readonly EndpointSlice[]): SliceEndpoint[][] {
  const address = ({ addresses }: SliceEndpoint) => addresses[0]!;
  const left = new Map(endpoints.map((endpoint) => [address(endpoint), endpoint]));
  const parts = slices.map((slice) =>
    (slice.endpoints ?? []).flatMap((endpoint) => {
      const wanted = left.get(address(endpoint));
      left.delete(address(endpoint));
      return wanted ?? [];
    }),
  );
  for (const endpoint of left.values()) {
    let part = parts.find((candidate) => candidate.length < MOST_PER_SLICE);
    if (!part) {
      part = [];
      parts.push(part);
    }
    part.push(endpoint);
  }
  return parts.length > 0 ? parts : [[]];
}

function writeSlice(world: World, service: Service, slice: EndpointSlice | undefined, group: Group): void {
  const labels = sliceLabels(service);
  if (slice && sameJson(slice.endpoints, group.endpoints) && sameJson(slice.metadata.labels ?? {}, labels)) return;
  const annotations = { ...slice?.metadata.annotations, [TRIGGER_TIME]: microTimestamp(world.now()) };
  const wanted: EndpointSlice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      ...(slice ? slice.metadata : { name: '', generateName: `${service.metadata.name}-` }),
      ...(service.metadata.namespace && { namespace: service.metadata.namespace }),
      labels,
      annotations,
      ownerReferences: [ownerReference(service)],
    },
    addressType: group.addressType,
    endpoints: copy(group.endpoints),
    ports: copy(group.ports),
  };
  if (slice) replace(world, 'endpointslices', wanted);
  else add(world, 'endpointslices', wanted);
}

function sliceLabels({ metadata, spec }: Service): { [key: string]: string } {
  return {
    ...metadata.labels,
    ...(spec.clusterIP === 'None' && { [HEADLESS]: '' }),
    [SLICE_MANAGED_BY]: MANAGER,
    [SERVICE_NAME]: metadata.name,
  };
}
