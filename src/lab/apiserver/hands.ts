// The cluster in the hands of the process that runs it: objects applied, read and selected without HTTP.
import { decodeObject } from './decode.ts';
import { storedForm } from './event-view.ts';
import { namespaceObject } from './first-objects.ts';
import type { KubeObject } from './object.ts';
import { create, update } from './registry.ts';
import { type Resource, resourceOfKind } from './resources.ts';
import { objectPredicate } from './selectors.ts';
import type { World } from './world.ts';

/** Creates the object, or replaces it; its status too, and its namespace if it is missing. */
export function apply(world: World, object: KubeObject): KubeObject {
  const resource = resourceOfKind(object.apiVersion, object.kind);
  if (!resource) throw new Error(`this server has no ${object.apiVersion} ${object.kind}`);
  const namespace = resource.namespaced ? (object.metadata.namespace ?? 'default') : undefined;
  if (namespace && !world.store.get('namespaces', undefined, namespace)) apply(world, namespaceObject(namespace));
  const { resourceVersion: _ignored, ...rest } = object.metadata;
  const metadata = { ...rest, ...(namespace && { namespace }) };
  const given = storedForm(resource, decodeObject(resource, { ...object, metadata }, 'Strict').object);
  const exists = world.store.get(resource.storage, namespace, metadata.name);
  const stored = exists ? update(world, resource, given) : create(world, resource, given);
  if (object.status === undefined || !resource.subresources.includes('status')) return stored.object;
  return update(world, resource, { ...stored.object, status: object.status }, { subresource: 'status' }).object;
}

export interface Selection {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export function listed(
  world: World,
  resource: Resource,
  { namespace, labelSelector = '', fieldSelector = '' }: Selection,
): KubeObject[] {
  const predicate = objectPredicate(resource, { label: labelSelector, field: fieldSelector });
  return world.store
    .list(resource.storage)
    .map(({ object }) => object)
    .filter((object) => namespace === undefined || object.metadata.namespace === namespace)
    .filter((object) => !predicate || predicate(object));
}
