// How an object comes to its end: at once, after a grace period, or when the last finalizer lets go of it.
import { type KubeObject, timestamp } from './object.ts';
import { RESOURCES, type Resource } from './resources.ts';
import { conflict, notFound } from './status.ts';
import type { Stored } from './store.ts';
import { strategyOf } from './strategies.ts';
import type { World } from './world.ts';

export interface DeleteOptions {
  readonly graceSeconds?: number | undefined;
  readonly dryRun?: boolean;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  /** What becomes of the objects it owns: Background and Foreground remove them, Orphan keeps them. */
  readonly propagation?: string;
}

/** Asks an object to go. It is gone at once unless it has a grace period, a finalizer or something left to do. */
export function remove(
  world: World,
  resource: Resource,
  namespace: string | undefined,
  name: string,
  options: DeleteOptions = {},
): { readonly stored: Stored; readonly gone: boolean } {
  const held = world.store.get(resource.storage, namespace, name);
  if (!held) throw notFound(resource, name);
  const { object } = held;
  requireSame(resource, object, options);
  const grace = strategyOf(resource).graceSeconds?.(object, options.graceSeconds) ?? 0;
  const metadata = { ...object.metadata, deletionGracePeriodSeconds: grace };
  const stays = staysAfterDeletion(resource, { ...object, metadata });
  if (options.dryRun) return { stored: held, gone: !stays };
  if (options.propagation === 'Orphan') orphanDependents(world, object);
  if (!stays) return { stored: world.store.remove(resource.storage, object), gone: true };
  if (object.metadata.deletionTimestamp && grace >= (object.metadata.deletionGracePeriodSeconds ?? 0)) {
    return { stored: held, gone: false };
  }
  metadata.deletionTimestamp = timestamp(new Date(world.now().getTime() + grace * 1000));
  if (resource.countsGenerations) metadata.generation = (metadata.generation ?? 1) + 1;
  return { stored: world.store.put(resource.storage, { ...object, metadata }), gone: false };
}

/** Lets go of what an object owns, so that it stays when its owner goes. */
function orphanDependents(world: World, { metadata: { uid, namespace } }: KubeObject): void {
  for (const { storage } of RESOURCES) {
    for (const { object } of world.store.list(storage)) {
      const owners = object.metadata.ownerReferences ?? [];
      if (object.metadata.namespace !== namespace || !owners.some((owner) => owner.uid === uid)) continue;
      const ownerReferences = owners.filter((owner) => owner.uid !== uid);
      world.store.put(storage, { ...object, metadata: { ...object.metadata, ownerReferences } });
    }
  }
}

/** Whether an object that is asked to go has a grace period, a finalizer or something else left to do. */
export function staysAfterDeletion(resource: Resource, object: KubeObject): boolean {
  const { finalizers = [], deletionGracePeriodSeconds = 0 } = object.metadata;
  if (deletionGracePeriodSeconds > 0 || finalizers.length > 0) return true;
  return strategyOf(resource).staysForNow?.(object) ?? false;
}

/** Throws if a client means another object, or another version of it, than the one there is. */
export function requireSame(resource: Resource, { metadata }: KubeObject, meant: Meant): void {
  if (meant.uid && meant.uid !== metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${meant.uid}, UID in object meta: ${metadata.uid}`;
    throw conflict(resource, metadata.name, why);
  }
  if (meant.resourceVersion && meant.resourceVersion !== metadata.resourceVersion)
    throw conflict(resource, metadata.name);
}

interface Meant {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}
