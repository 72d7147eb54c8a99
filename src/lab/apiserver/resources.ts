// The resources this API server has, as one table. Discovery, routing, storage and tables all read it, and what is not in
// it does not exist here.

export type Subresource = 'status' | 'scale' | 'log';

export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly subresources: readonly Subresource[];
  /** The store's name for it. Two resources with one name are two views of the same objects. */
  readonly storage: string;
  /** Whether metadata.generation counts the changes of spec. */
  readonly countsGenerations: boolean;
}

function resource(
  apiVersion: string,
  plural: string,
  kind: string,
  more: Partial<Resource> & { readonly singular: string },
): Resource {
  const slash = apiVersion.indexOf('/');
  const group = slash < 0 ? '' : apiVersion.slice(0, slash);
  return {
    group,
    version: apiVersion.slice(slash + 1),
    plural,
    kind,
    namespaced: true,
    shortNames: [],
    categories: [],
    subresources: [],
    storage: plural,
    countsGenerations: false,
    ...more,
  };
}

export const RESOURCES: readonly Resource[] = [
  resource('v1', 'configmaps', 'ConfigMap', { singular: 'configmap', shortNames: ['cm'] }),
  resource('v1', 'endpoints', 'Endpoints', { singular: 'endpoints', shortNames: ['ep'] }),
  resource('v1', 'events', 'Event', { singular: 'event', shortNames: ['ev'] }),
  resource('v1', 'namespaces', 'Namespace', {
    singular: 'namespace',
    namespaced: false,
    shortNames: ['ns'],
    subresources: ['status'],
  }),
  resource('v1', 'nodes', 'Node', {
    singular: 'node',
    namespaced: false,
    shortNames: ['no'],
    subresources: ['status'],
  }),
  resource('v1', 'pods', 'Pod', {
    singular: 'pod',
    shortNames: ['po'],
    categories: ['all'],
    subresources: ['status', 'log'],
  }),
  resource('v1', 'serviceaccounts', 'ServiceAccount', { singular: 'serviceaccount', shortNames: ['sa'] }),
  resource('v1', 'services', 'Service', {
    singular: 'service',
    shortNames: ['svc'],
    categories: ['all'],
    subresources: ['status'],
  }),
  resource('apps/v1', 'deployments', 'Deployment', {
    singular: 'deployment',
    shortNames: ['deploy'],
    categories: ['all'],
    subresources: ['status', 'scale'],
    countsGenerations: true,
  }),
  resource('apps/v1', 'replicasets', 'ReplicaSet', {
    singular: 'replicaset',
    shortNames: ['rs'],
    categories: ['all'],
    subresources: ['status', 'scale'],
    countsGenerations: true,
  }),
  resource('discovery.k8s.io/v1', 'endpointslices', 'EndpointSlice', {
    singular: 'endpointslice',
    countsGenerations: true,
  }),
  resource('events.k8s.io/v1', 'events', 'Event', { singular: 'event', shortNames: ['ev'] }),
  resource('networking.k8s.io/v1', 'servicecidrs', 'ServiceCIDR', {
    singular: 'servicecidr',
    namespaced: false,
    subresources: ['status'],
  }),
];

export const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'] as const;
export type Verb = (typeof VERBS)[number];

export function apiVersionOf(resource: Resource): string {
  return resource.group ? `${resource.group}/${resource.version}` : resource.version;
}

/** `services`, `deployments.apps`: the name in messages. */
export function qualifiedName(resource: Resource): string {
  return resource.group ? `${resource.plural}.${resource.group}` : resource.plural;
}

export function findResource(group: string, version: string, plural: string): Resource | undefined {
  return RESOURCES.find((r) => r.group === group && r.version === version && r.plural === plural);
}

export function resourceOfKind(apiVersion: string, kind: string): Resource | undefined {
  return RESOURCES.find((r) => r.kind === kind && apiVersionOf(r) === apiVersion);
}

/** For our own code, which names only what the table has. */
export function resourceNamed(plural: string): Resource {
  const found = RESOURCES.find((r) => r.plural === plural);
  if (!found) throw new Error(`no resource is called ${plural}`);
  return found;
}
