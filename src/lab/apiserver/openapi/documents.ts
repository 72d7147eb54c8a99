// The OpenAPI documents: what kubectl reads to check manifests, to explain kinds and to learn which query parameters the
// server understands. Made once, on the first request.
import { createHash } from 'node:crypto';
import type { Document } from '../discovery.ts';
import type { JsonObject } from '../object.ts';
import { apiVersionOf, RESOURCES, type Resource } from '../resources.ts';
import { definitionName, typeOfKind } from '../schema/schema.ts';
import { definitions, groupVersionKind } from './definitions.ts';
import { encodeOpenApiV2 } from './protobuf.ts';

const INFO = { title: 'Kubernetes', version: 'v1.36.4' };
// As a media type must be written; clients ask for it with an @, which no parser of answers takes.
const PROTOBUF = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
const PATCH_TYPES = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
];

export function openApiDocument(path: string, accept: string): Document | undefined {
  if (path === '/openapi/v2') {
    // Old kubectl asks for protobuf and reads nothing else.
    return accept.includes('protobuf') ? { contentType: PROTOBUF, body: v2Bytes() } : json(v2());
  }
  if (path === '/openapi/v3') return json(v3Index());
  const group = groupVersionPaths().find((candidate) => path === `/openapi/v3/${candidate}`);
  return group === undefined ? undefined : json(v3(group));
}

const v2 = once(() => ({
  swagger: '2.0',
  info: INFO,
  paths: pathItems(RESOURCES, v2Operation),
  definitions: definitions('#/definitions/'),
}));
const v2Bytes = once(() => encodeOpenApiV2(v2()));
const v3Documents = new Map<string, JsonObject>();

function v3(groupVersionPath: string): JsonObject {
  let document = v3Documents.get(groupVersionPath);
  if (!document) {
    const resources = RESOURCES.filter((resource) => rootPath(resource) === groupVersionPath);
    document = {
      openapi: '3.0.0',
      info: INFO,
      paths: pathItems(resources, v3Operation),
      components: { schemas: definitions('#/components/schemas/') },
    };
    v3Documents.set(groupVersionPath, document);
  }
  return document;
}

function v3Index(): JsonObject {
  const entries = groupVersionPaths().map((path) => {
    const hash = createHash('sha256')
      .update(JSON.stringify(v3(path)))
      .digest('hex')
      .slice(0, 32);
    return [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` }] as const;
  });
  return { paths: Object.fromEntries(entries) };
}

function groupVersionPaths(): string[] {
  return [...new Set(RESOURCES.map(rootPath))];
}

function rootPath(resource: Resource): string {
  return `${resource.group ? 'apis' : 'api'}/${apiVersionOf(resource)}`;
}

type MakeOperation = (resource: Resource, action: string) => JsonObject;

const COLLECTION_ACTIONS = { get: 'list', post: 'post', delete: 'deletecollection' };
const ITEM_ACTIONS = { get: 'get', put: 'put', patch: 'patch', delete: 'delete' };

function pathItems(resources: readonly Resource[], operation: MakeOperation): JsonObject {
  const items: JsonObject = {};
  for (const resource of resources) {
    const scope = resource.namespaced ? 'namespaces/{namespace}/' : '';
    const collection = `/${rootPath(resource)}/${scope}${resource.plural}`;
    const operations = (actions: Readonly<Record<string, string>>) =>
      Object.fromEntries(Object.entries(actions).map(([method, action]) => [method, operation(resource, action)]));
    items[collection] = operations(COLLECTION_ACTIONS);
    items[`${collection}/{name}`] = operations(ITEM_ACTIONS);
  }
  return items;
}

function extensions(resource: Resource, action: string): JsonObject {
  return { 'x-kubernetes-action': action, 'x-kubernetes-group-version-kind': groupVersionKind(resource) };
}

/** Names alone: that they are there is what clients ask. */
const WRITE_PARAMETERS = ['dryRun', 'fieldManager', 'fieldValidation'];

function parameterNames(action: string): readonly string[] {
  return action === 'post' || action === 'put' || action === 'patch'
    ? WRITE_PARAMETERS
    : action === 'delete'
      ? ['dryRun']
      : [];
}

function v2Operation(resource: Resource, action: string): JsonObject {
  return {
    ...(action === 'patch' && { consumes: PATCH_TYPES }),
    parameters: parameterNames(action).map((name) => ({ name, in: 'query', type: 'string' })),
    responses: { '200': { description: 'OK' } },
    ...extensions(resource, action),
  };
}

function v3Operation(resource: Resource, action: string): JsonObject {
  const $ref = `#/components/schemas/${definitionName(typeOfKind(resource))}`;
  const content = { 'application/json': { schema: { $ref } } };
  return {
    parameters: parameterNames(action).map((name) => ({ name, in: 'query', schema: { type: 'string' } })),
    ...(action === 'patch' && {
      requestBody: { content: Object.fromEntries(PATCH_TYPES.map((type) => [type, { schema: { type: 'object' } }])) },
    }),
    responses: { '200': { description: 'OK', content } },
    ...extensions(resource, action),
  };
}

function json(value: JsonObject): Document {
  return { contentType: 'application/json', body: JSON.stringify(value) };
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
