// How controllers read and write: by kind, through the same registry as everybody else.

import { remove } from '../deletion.ts';
import type { KubeObject } from '../object.ts';
import { create, update } from '../registry.ts';
import { resourceNamed } from '../resources.ts';
import type { Condition } from '../types.ts';
import type { World } from '../world.ts';

export function find<T extends KubeObject>(
  world: World,
  plural: string,
  namespace: string | undefined,
  name: string,
): T | undefined {
  return world.store.get(resourceNamed(plural).storage, namespace, name)?.object as T | undefined;
}

export function all<T extends KubeObject>(world: World, plural: string, namespace?: string): T[] {
  const objects = world.store.list(resourceNamed(plural).storage).map(({ object }) => object as T);
  return namespace === undefined ? objects : objects.filter(({ metadata }) => metadata.namespace === namespace);
}

export function ownedBy<T extends KubeObject>(world: World, plural: string, owner: KubeObject): T[] {
  return all<T>(world, plural, owner.metadata.namespace).filter(({ metadata }) =>
    metadata.ownerReferences?.some(({ uid, controller }) => controller && uid === owner.metadata.uid),
  );
}

export function add<T extends KubeObject>(world: World, plural: string, object: T): T {
  return create(world, resourceNamed(plural), object).object as T;
}

export function replace<T extends KubeObject>(world: World, plural: string, object: T): T {
  return update(world, resourceNamed(plural), object).object as T;
}

export function replaceStatus<T extends KubeObject>(world: World, plural: string, object: T): void {
  update(world, resourceNamed(plural), object, { subresource: 'status' });
}

export function drop(world: World, plural: string, object: KubeObject, graceSeconds?: number): void {
  const { namespace, name } = object.metadata;
  const resource = resourceNamed(plural);
  if (world.store.get(resource.storage, namespace, name)) remove(world, resource, namespace, name, { graceSeconds });
}

export function ownerReference({
  apiVersion,
  kind,
  metadata,
}: KubeObject): NonNullable<KubeObject['metadata']['ownerReferences']>[number] {
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: true, blockOwnerDeletion: true };
}

/** The conditions with one of them set; the time of transition moves only when the status changes. */
export function withCondition(conditions: readonly Condition[], wanted: Condition, now: string): Condition[] {
  const held = conditions.find(({ type }) => type === wanted.type);
  const lastTransitionTime = held?.status === wanted.status ? (held.lastTransitionTime ?? now) : now;
  const condition: Condition = { ...wanted, lastTransitionTime };
  if (!held) return [...conditions, condition];
  return conditions.map((other) => (other === held ? condition : other));
}
