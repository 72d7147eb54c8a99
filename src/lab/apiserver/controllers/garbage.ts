// What goes when something else has gone: objects whose owners are gone, pods of nodes that are gone, and all that is in a
// namespace that is being deleted.
import type { KubeObject } from '../object.ts';
import { RESOURCES, type Resource } from '../resources.ts';
import type { Namespace, Pod } from '../types.ts';
import type { World } from '../world.ts';
import type { Controller } from './controller.ts';
import { all, drop, find, replaceStatus } from './objects.ts';

/** Kinds that own others, and kinds that are owned. */
const OWNERS = ['deployments', 'replicasets', 'services', 'endpoints', 'pods'];
const OWNED = ['replicasets', 'pods', 'endpointslices', 'endpoints'];

export function garbageController(world: World): Controller {
  const deletedUid = ({ type, now }: { type: string; now: { object: KubeObject } }) =>
    type === 'DELETED' ? [now.object.metadata.uid ?? ''] : [];
  return {
    watches: Object.fromEntries(OWNERS.map((owner) => [owner, deletedUid])),
    reconcile(uid) {
      for (const plural of OWNED) {
        for (const object of all(world, plural)) {
          const owners = object.metadata.ownerReferences ?? [];
          // Several owners keep an object alive until the last one is gone.
          if (owners.length > 0 && owners.every((owner) => owner.uid === uid)) drop(world, plural, object);
        }
      }
    },
  };
}

export function nodeGarbageController(world: World): Controller {
  return {
    watches: { nodes: ({ type, now }) => (type === 'DELETED' ? [now.object.metadata.name] : []) },
    reconcile(name) {
      if (find(world, 'nodes', undefined, name)) return;
      for (const pod of all<Pod>(world, 'pods')) if (pod.spec.nodeName === name) drop(world, 'pods', pod, 0);
    },
  };
}

const NAMESPACED: readonly Resource[] = RESOURCES.filter(
  ({ namespaced, group }) => namespaced && group !== 'events.k8s.io',
);

/** A cluster takes seconds to empty a namespace. `kubectl delete -f` of a file that holds a namespace and what is in it
 *  relies on that: it deletes one after the other, and what is already gone would be an error. */
const EMPTIED_AFTER_MS = 2000;

export function namespaceController(world: World): Controller {
  const namespaceKey = ({ now }: { now: { object: KubeObject } }) => {
    const name = now.object.metadata.namespace ?? '';
    return find(world, 'namespaces', undefined, name)?.metadata.deletionTimestamp ? [name] : [];
  };
  return {
    watches: {
      namespaces: ({ now }) => (now.object.metadata.deletionTimestamp ? [now.object.metadata.name] : []),
      ...Object.fromEntries(NAMESPACED.map(({ storage }) => [storage, namespaceKey])),
    },
    reconcile(name, again) {
      const namespace = find<Namespace>(world, 'namespaces', undefined, name);
      if (!namespace?.metadata.deletionTimestamp) return;
      if (namespace.status?.phase !== 'Terminating') {
        replaceStatus(world, 'namespaces', { ...namespace, status: { phase: 'Terminating' } });
      }
      const left = new Date(namespace.metadata.deletionTimestamp).getTime() + EMPTIED_AFTER_MS - world.now().getTime();
      if (left > 0) {
        again(left);
        return;
      }
      for (const { plural } of NAMESPACED) {
        for (const object of all(world, plural, name))
          if (!object.metadata.deletionTimestamp) drop(world, plural, object);
      }
      if (NAMESPACED.some(({ plural }) => all(world, plural, name).length > 0)) return;
      world.store.remove('namespaces', find<Namespace>(world, 'namespaces', undefined, name)!);
    },
  };
}
