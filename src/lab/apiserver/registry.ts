// How objects are created and changed, the same for every kind. What differs between kinds is in their strategies.
// Controllers, the HTTP handlers and tests all write through here.
import { randomInt, randomUUID } from 'node:crypto';
import { requireSame, staysAfterDeletion } from './deletion.ts';
import { copy, type KubeObject, sameJson, timestamp } from './object.ts';
import { apiVersionOf, type Resource } from './resources.ts';
import { ApiError, alreadyExists, badRequest, forbidden, invalid, notFound } from './status.ts';
import { Stored } from './store.ts';
import { strategyOf } from './strategies.ts';
import type { World } from './world.ts';

export interface WriteOptions {
  readonly dryRun?: boolean;
  /** Which part of the object an update is about; the whole but status if absent. */
  readonly subresource?: 'status' | 'scale' | undefined;
}

export function create(world: World, resource: Resource, given: KubeObject, options: WriteOptions = {}): Stored {
  const object = copy(given);
  const { metadata } = object;
  metadata.name ||= metadata.generateName ? `${metadata.generateName}${randomSuffix()}` : '';
  if (!resource.namespaced) delete metadata.namespace;
  const namespace = metadata.namespace;
  if (metadata.name && world.store.get(resource.storage, namespace, metadata.name)) {
    throw alreadyExists(resource, metadata.name);
  }
  if (metadata.resourceVersion) throw badRequest('resourceVersion should not be set on objects to be created');
  if (namespace !== undefined) requireOpenNamespace(world, resource, namespace, metadata.name);

  const created: KubeObject = {
    ...object,
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { ...metadata, uid: randomUUID(), creationTimestamp: timestamp(world.now()) },
  };
  delete created.metadata.deletionTimestamp;
  delete created.metadata.deletionGracePeriodSeconds;
  if (resource.countsGenerations) created.metadata.generation = 1;
  else delete created.metadata.generation;
  strategyOf(resource).prepare?.(created, world);
  finish(world, resource, created, undefined);
  return options.dryRun ? new Stored(created, 0) : world.store.put(resource.storage, created);
}

/** Replaces an object. With a resourceVersion in it, only if nobody else changed it in the meantime. */
export function update(world: World, resource: Resource, given: KubeObject, options: WriteOptions = {}): Stored {
  const { name, namespace } = given.metadata;
  const held = world.store.get(resource.storage, resource.namespaced ? namespace : undefined, name);
  if (!held) throw notFound(resource, name);
  const before = held.object;
  requireSame(resource, before, given.metadata);

  const after = merged(resource, copy(given), before, options.subresource);
  finish(world, resource, after, before);
  if (resource.countsGenerations && !sameJson(withoutMetaAndStatus(after), withoutMetaAndStatus(before))) {
    after.metadata.generation = (before.metadata.generation ?? 1) + 1;
  }
  if (sameJson(after, before)) return held; // as on a cluster: a write that changes nothing is no new version
  if (options.dryRun) return new Stored(after, held.version);
  const put = world.store.put(resource.storage, after);
  const isOver = after.metadata.deletionTimestamp !== undefined && !staysAfterDeletion(resource, after);
  return isOver ? world.store.remove(resource.storage, after) : put;
}

/** Fills in, checks and allocates. Throws what kubectl prints as `The Service "x" is invalid: …`. */
function finish(world: World, resource: Resource, object: KubeObject, before: KubeObject | undefined): void {
  const strategy = strategyOf(resource);
  strategy.fill?.(object, before, world);
  const wrong = strategy.check?.(object, before, world) ?? [];
  if (wrong.length > 0) throw invalid(resource, object.metadata.name, wrong);
  const unavailable = strategy.allocate?.(object, before, world) ?? [];
  if (unavailable.length > 0) throw invalid(resource, object.metadata.name, unavailable);
}

/** What an update may change: status only through the status subresource, identity never. */
function merged(
  resource: Resource,
  given: KubeObject,
  before: KubeObject,
  subresource: WriteOptions['subresource'],
): KubeObject {
  const identity: Partial<KubeObject['metadata']> = {};
  for (const field of SERVER_FIELDS) Object.assign(identity, { [field]: before.metadata[field] });
  const metadata = { ...given.metadata, ...identity };
  for (const field of SERVER_FIELDS) if (metadata[field] === undefined) delete metadata[field];
  if (subresource === 'status') {
    const kept = copy(before);
    if (given.status === undefined) delete kept.status;
    else kept.status = given.status;
    return kept;
  }
  const after: KubeObject = { ...given, apiVersion: before.apiVersion, kind: before.kind, metadata };
  if (!resource.subresources.includes('status')) return after;
  if (before.status === undefined) delete after.status;
  else after.status = before.status;
  return after;
}

const SERVER_FIELDS = [
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
  'generateName',
  'namespace',
  'resourceVersion',
] as const;

function withoutMetaAndStatus({ metadata: _metadata, status: _status, ...rest }: KubeObject): KubeObject {
  return rest as KubeObject;
}

function requireOpenNamespace(world: World, resource: Resource, namespace: string, name: string): void {
  const found = world.store.get('namespaces', undefined, namespace);
  if (!found) {
    throw new ApiError(404, 'NotFound', `namespaces "${namespace}" not found`, { name: namespace, kind: 'namespaces' });
  }
  if (found.object.metadata.deletionTimestamp && resource.plural !== 'events') {
    const what = `${resource.plural}${resource.group && `.${resource.group}`} "${name}"`;
    throw forbidden(
      `${what} is forbidden: unable to create new content in namespace ${namespace} because it is being terminated`,
    );
  }
}

/** Letters and digits that spell no words and are not mistaken for each other. */
const SUFFIX_LETTERS = 'bcdfghjklmnpqrstvwxz2456789';

export function randomSuffix(length = 5): string {
  return Array.from({ length }, () => SUFFIX_LETTERS[randomInt(SUFFIX_LETTERS.length)]).join('');
}
