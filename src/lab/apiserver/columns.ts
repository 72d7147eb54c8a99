// The columns `kubectl get` prints for each kind: names, order and values as a cluster's server has them.
import {
  endpointsText,
  podReady,
  podStatusText,
  portsText,
  restartsText,
  sliceEndpoints,
  slicePorts,
} from './cells.ts';
import { age } from './duration.ts';
import { isObject, type Json, type KubeObject } from './object.ts';
import type { Resource } from './resources.ts';
import { selectorText } from './scale.ts';
import type {
  Deployment,
  EndpointSlice,
  Endpoints,
  Event,
  Namespace,
  Node,
  Pod,
  PodTemplate,
  ReplicaSet,
  Service,
  ServiceCIDR,
} from './types.ts';

export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer';
  /** Shown by `-o wide` only. */
  readonly wide: boolean;
  readonly about: string;
  readonly cell: (object: KubeObject, now: Date) => string | number;
}

export function columnsOf(resource: Resource): readonly Column[] {
  return COLUMNS[resource.storage] ?? [NAME, AGE];
}

const NAME: Column = column('Name', (object) => object.metadata.name);
const AGE: Column = column('Age', (object, now) => age(object.metadata.creationTimestamp, now));

const COLUMNS: Readonly<Record<string, readonly Column[]>> = {
  configmaps: [NAME, count('Data', ({ data, binaryData }) => keyCount(data) + keyCount(binaryData)), AGE],

  serviceaccounts: [NAME, count('Secrets', ({ secrets }) => (Array.isArray(secrets) ? secrets.length : 0)), AGE],

  namespaces: [NAME, column('Status', (ns: Namespace) => ns.status?.phase ?? ''), AGE],

  nodes: [
    NAME,
    column('Status', nodeStatus),
    column('Roles', nodeRoles),
    AGE,
    column('Version', (node: Node) => node.status?.nodeInfo?.kubeletVersion ?? ''),
    wide('Internal-IP', (node: Node) => nodeAddress(node, 'InternalIP')),
    wide('External-IP', (node: Node) => nodeAddress(node, 'ExternalIP')),
    wide('OS-Image', (node: Node) => node.status?.nodeInfo?.osImage ?? '<unknown>'),
    wide('Kernel-Version', (node: Node) => node.status?.nodeInfo?.kernelVersion ?? '<unknown>'),
    wide('Container-Runtime', (node: Node) => node.status?.nodeInfo?.containerRuntimeVersion ?? '<unknown>'),
  ],

  pods: [
    NAME,
    column('Ready', podReady),
    column('Status', podStatusText),
    column('Restarts', restartsText),
    AGE,
    wide('IP', (pod: Pod) => pod.status?.podIP ?? '<none>'),
    wide('Node', (pod: Pod) => pod.spec.nodeName ?? '<none>'),
    wide('Nominated Node', () => '<none>'),
    wide('Readiness Gates', () => '<none>'),
  ],

  services: [
    NAME,
    column('Type', ({ spec }: Service) => spec.type ?? ''),
    column('Cluster-IP', ({ spec }: Service) =>
      spec.type === 'ExternalName' ? '<none>' : (spec.clusterIP ?? '<none>'),
    ),
    column('External-IP', externalAddresses),
    column('Port(s)', ({ spec }: Service) => portsText(spec.ports ?? [])),
    AGE,
    wide('Selector', ({ spec }: Service) => labelsText(spec.selector ?? {})),
  ],

  endpoints: [NAME, column('Endpoints', (endpoints: Endpoints) => endpointsText(endpoints.subsets ?? [])), AGE],

  endpointslices: [
    NAME,
    column('AddressType', (slice: EndpointSlice) => slice.addressType),
    column('Ports', (slice: EndpointSlice) => slicePorts(slice.ports ?? [])),
    column('Endpoints', (slice: EndpointSlice) => sliceEndpoints(slice.endpoints ?? [])),
    AGE,
  ],

  deployments: [
    NAME,
    column('Ready', ({ spec, status }: Deployment) => `${status?.readyReplicas ?? 0}/${spec.replicas ?? 0}`),
    count('Up-to-date', ({ status }: Deployment) => status?.updatedReplicas ?? 0),
    count('Available', ({ status }: Deployment) => status?.availableReplicas ?? 0),
    AGE,
    wide('Containers', ({ spec }: Deployment) => containerNames(spec.template)),
    wide('Images', ({ spec }: Deployment) => imageNames(spec.template)),
    wide('Selector', ({ spec }: Deployment) => selectorText(spec.selector) || '<none>'),
  ],

  replicasets: [
    NAME,
    count('Desired', ({ spec }: ReplicaSet) => spec.replicas ?? 0),
    count('Current', ({ status }: ReplicaSet) => status?.replicas ?? 0),
    count('Ready', ({ status }: ReplicaSet) => status?.readyReplicas ?? 0),
    AGE,
    wide('Containers', ({ spec }: ReplicaSet) => containerNames(spec.template)),
    wide('Images', ({ spec }: ReplicaSet) => imageNames(spec.template)),
    wide('Selector', ({ spec }: ReplicaSet) => selectorText(spec.selector) || '<none>'),
  ],

  events: [
    column('Last Seen', (event: Event, now) => age(lastSeen(event), now)),
    column('Type', (event: Event) => event.type ?? ''),
    column('Reason', (event: Event) => event.reason ?? ''),
    column('Object', ({ involvedObject }: Event) => `${involvedObject.kind?.toLowerCase()}/${involvedObject.name}`),
    wide('Subobject', ({ involvedObject }: Event) => involvedObject.fieldPath ?? ''),
    wide('Source', eventSource),
    column('Message', (event: Event) => (event.message ?? '').trim()),
    wide('First Seen', (event: Event, now) => age(event.firstTimestamp ?? event.eventTime, now)),
    wide('Count', (event: Event) => String(event.series?.count ?? event.count ?? 1)),
    wide('Name', (event) => event.metadata.name),
  ],

  servicecidrs: [NAME, column('CIDRs', ({ spec }: ServiceCIDR) => (spec?.cidrs ?? []).join(',')), AGE],
};

function column<T extends KubeObject>(name: string, cell: (object: T, now: Date) => string | number): Column {
  return { name, type: 'string', wide: false, about: '', cell: cell as Column['cell'] };
}

function count<T extends KubeObject>(name: string, cell: (object: T) => number): Column {
  return { ...column(name, cell), type: 'integer' };
}

function wide<T extends KubeObject>(name: string, cell: (object: T, now: Date) => string | number): Column {
  return { ...column(name, cell), wide: true };
}

function keyCount(map: Json | undefined): number {
  return isObject(map) ? Object.keys(map).length : 0;
}

function nodeStatus({ spec, status }: Node): string {
  const ready = status?.conditions?.find((condition) => condition.type === 'Ready');
  const word = !ready ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return spec?.unschedulable ? `${word},SchedulingDisabled` : word;
}

const ROLE_PREFIX = 'node-role.kubernetes.io/';

function nodeRoles({ metadata }: Node): string {
  const roles = Object.keys(metadata.labels ?? {}).filter((label) => label.startsWith(ROLE_PREFIX));
  return (
    roles
      .map((label) => label.slice(ROLE_PREFIX.length))
      .sort()
      .join(',') || '<none>'
  );
}

function nodeAddress({ status }: Node, type: string): string {
  return status?.addresses?.find((address) => address.type === type)?.address ?? '<none>';
}

function externalAddresses({ spec, status }: Service): string {
  const own = spec.externalIPs ?? [];
  if (spec.type === 'ExternalName') return spec.externalName ?? '';
  if (spec.type !== 'LoadBalancer') return own.join(',') || '<none>';
  const ingress = (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip ?? hostname ?? '');
  return [...ingress, ...own].join(',') || '<pending>';
}

function labelsText(labels: { [key: string]: string }): string {
  return (
    Object.entries(labels)
      .map(([key, value]) => `${key}=${value}`)
      .sort()
      .join(',') || '<none>'
  );
}

function containerNames({ spec }: PodTemplate): string {
  return spec.containers.map(({ name }) => name).join(',');
}

function imageNames({ spec }: PodTemplate): string {
  return spec.containers.map(({ image }) => image ?? '').join(',');
}

function lastSeen({ series, lastTimestamp, eventTime }: Event): string | undefined {
  return (series?.lastObservedTime ?? lastTimestamp ?? eventTime) || undefined;
}

function eventSource({ source, reportingComponent, reportingInstance }: Event): string {
  const component = source?.component || reportingComponent || '';
  const host = source?.host || reportingInstance || '';
  return host && host !== component ? `${component}, ${host}` : component;
}
