// What the server has, told in the forms clients ask for: the classic documents and the aggregated one.
import type { JsonObject } from './object.ts';
import { openApiDocument } from './openapi/documents.ts';
import { RESOURCES, type Resource, VERBS } from './resources.ts';

export interface Document {
  readonly contentType: string;
  readonly body: string | Uint8Array;
}

/** The version this server's API follows. */
const VERSION = { major: '1', minor: '36', gitVersion: 'v1.36.4+portolan-lab' };

export function discoveryDocument(path: string, accept: string): Document | undefined {
  const clean = path.replace(/\/+$/, '');
  if (clean === '/healthz' || clean === '/livez' || clean === '/readyz')
    return { contentType: 'text/plain', body: 'ok' };
  if (clean.startsWith('/openapi/')) return openApiDocument(clean, accept);
  const isRoot = clean === '/api' || clean === '/apis';
  if (isRoot && accept.includes('as=APIGroupDiscoveryList')) return aggregated(clean === '/api', accept);
  const found = classic(clean);
  return found && { contentType: 'application/json', body: JSON.stringify(found) };
}

function classic(path: string): JsonObject | undefined {
  if (path === '/version') return versionDocument();
  if (path === '/api') return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
  if (path === '/apis') return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups().map(groupDocument) };
  if (path === '/api/v1') return resourceList('', 'v1');
  const [group, version, ...rest] = path.startsWith('/apis/') ? path.slice('/apis/'.length).split('/') : [];
  if (group === undefined || rest.length > 0 || !groups().includes(group)) return undefined;
  if (version === undefined) return { kind: 'APIGroup', apiVersion: 'v1', ...groupDocument(group) };
  return version === 'v1' ? resourceList(group, version) : undefined;
}

function versionDocument(): JsonObject {
  return {
    ...VERSION,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: '',
    compiler: 'node',
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
}

function groups(): string[] {
  return [...new Set(RESOURCES.map((resource) => resource.group))].filter((group) => group !== '');
}

function groupDocument(name: string): JsonObject {
  const version = { groupVersion: `${name}/v1`, version: 'v1' };
  return { name, versions: [version], preferredVersion: version };
}

function resourceList(group: string, version: string): JsonObject {
  const resources = RESOURCES.filter((resource) => resource.group === group && resource.version === version);
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: group ? `${group}/${version}` : version,
    resources: resources.flatMap((resource) => [resourceEntry(resource), ...subresourceEntries(resource)]),
  };
}

function resourceEntry({ plural, singular, namespaced, kind, shortNames, categories }: Resource): JsonObject {
  return {
    name: plural,
    singularName: singular,
    namespaced,
    kind,
    verbs: [...VERBS],
    ...(shortNames.length > 0 && { shortNames: [...shortNames] }),
    ...(categories.length > 0 && { categories: [...categories] }),
  };
}

function subresourceEntries({ plural, namespaced, kind, subresources }: Resource): JsonObject[] {
  return subresources.map((subresource) => ({
    name: `${plural}/${subresource}`,
    singularName: '',
    namespaced,
    ...SUBRESOURCE_KINDS[subresource],
    kind: SUBRESOURCE_KINDS[subresource]?.kind ?? kind,
    verbs: subresource === 'log' ? ['get'] : ['get', 'patch', 'update'],
  }));
}

const SUBRESOURCE_KINDS: Readonly<Record<string, { group?: string; version?: string; kind: string }>> = {
  scale: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
};

function aggregated(isCore: boolean, accept: string): Document {
  const version =
    accept.includes('v=v2;') || accept.endsWith('v=v2') ? 'v2' : accept.includes('v=v2beta1') ? 'v2beta1' : 'v2';
  const names = isCore ? [''] : groups();
  const body = {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: names.map((group) => ({
      metadata: { ...(group && { name: group }) },
      versions: [
        {
          version: 'v1',
          freshness: 'Current',
          resources: RESOURCES.filter((resource) => resource.group === group).map(aggregatedEntry),
        },
      ],
    })),
  };
  const contentType = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
  return { contentType, body: JSON.stringify(body) };
}

function aggregatedEntry(resource: Resource): JsonObject {
  const { group, version, plural, singular, kind, namespaced, shortNames, categories, subresources } = resource;
  return {
    resource: plural,
    responseKind: { group, version, kind },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs: [...VERBS],
    ...(shortNames.length > 0 && { shortNames: [...shortNames] }),
    ...(categories.length > 0 && { categories: [...categories] }),
    ...(subresources.length > 0 && {
      subresources: subresourceEntries(resource).map((entry, i) => ({
        subresource: subresources[i],
        responseKind: { group: entry.group ?? group, version: entry.version ?? version, kind: entry.kind },
        verbs: entry.verbs,
      })),
    }),
  };
}
