// ReplicaSets: as many pods as wanted, no more.
import { timestamp } from '../object.ts';
import type { Pod, ReplicaSet } from '../types.ts';
import type { World } from '../world.ts';
import { type Controller, controllerKey, ownKey, splitKey } from './controller.ts';
import { recordEvent } from './events.ts';
import { add, drop, find, ownedBy, ownerReference, replaceStatus } from './objects.ts';
import { isPodActive, isPodReady } from './pod-state.ts';

const COMPONENT = 'replicaset-controller';

export function replicaSetController(world: World): Controller {
  return {
    watches: { replicasets: ownKey, pods: controllerKey('ReplicaSet') },
    reconcile(key, again) {
      const { namespace, name } = splitKey(key);
      const replicaSet = find<ReplicaSet>(world, 'replicasets', namespace, name);
      if (!replicaSet || replicaSet.metadata.deletionTimestamp) return;
      const pods = ownedBy<Pod>(world, 'pods', replicaSet);
      const active = pods.filter(isPodActive);
      const missing = (replicaSet.spec.replicas ?? 1) - active.length;
      for (let i = 0; i < missing; i++) addPod(world, replicaSet);
      for (const pod of leastWorthKeeping(active).slice(0, Math.max(0, -missing))) {
        recordEvent(world, replicaSet, COMPONENT, 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name}`);
        drop(world, 'pods', pod);
      }
      // A pod that is ready now counts as available later.
      if (writeStatus(world, replicaSet).isSettling) again(1000);
    },
  };
}

function addPod(world: World, replicaSet: ReplicaSet): void {
  const { metadata = {}, spec } = replicaSet.spec.template;
  const pod = add<Pod>(world, 'pods', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: '',
      generateName: `${replicaSet.metadata.name}-`,
      ...(replicaSet.metadata.namespace && { namespace: replicaSet.metadata.namespace }),
      ...(metadata.labels && { labels: metadata.labels }),
      ...(metadata.annotations && { annotations: metadata.annotations }),
      ownerReferences: [ownerReference(replicaSet)],
    },
    spec,
  });
  recordEvent(world, replicaSet, COMPONENT, 'SuccessfulCreate', `Created pod: ${pod.metadata.name}`);
}

/** First those that serve nobody, then those on the fullest nodes, then the youngest. */
function leastWorthKeeping(pods: readonly Pod[]): Pod[] {
  const onNode = (pod: Pod) => pods.filter(({ spec }) => spec.nodeName === pod.spec.nodeName).length;
  const worth = (pod: Pod) => (pod.spec.nodeName === undefined ? 0 : isPodReady(pod) ? 2 : 1);
  return [...pods].sort(
    (a, b) =>
      worth(a) - worth(b) ||
      onNode(b) - onNode(a) ||
      (b.metadata.creationTimestamp ?? '').localeCompare(a.metadata.creationTimestamp ?? '') ||
      (a.metadata.name < b.metadata.name ? -1 : 1),
  );
}

function writeStatus(world: World, { metadata }: ReplicaSet): { isSettling: boolean } {
  const current = find<ReplicaSet>(world, 'replicasets', metadata.namespace, metadata.name);
  if (!current) return { isSettling: false };
  const pods = ownedBy<Pod>(world, 'pods', current).filter(isPodActive);
  const ready = pods.filter(isPodReady);
  const settledBefore = world.now().getTime() - (current.spec.minReadySeconds ?? 0) * 1000;
  const available = ready.filter((pod) => readySince(pod) <= settledBefore);
  replaceStatus(world, 'replicasets', {
    ...current,
    status: {
      replicas: pods.length,
      ...(pods.length > 0 && { fullyLabeledReplicas: pods.length }),
      ...(ready.length > 0 && { readyReplicas: ready.length }),
      ...(available.length > 0 && { availableReplicas: available.length }),
      observedGeneration: current.metadata.generation ?? 1,
    },
  });
  return { isSettling: available.length < ready.length };
}

function readySince({ status }: Pod): number {
  const condition = status?.conditions?.find(({ type }) => type === 'Ready');
  return new Date(condition?.lastTransitionTime ?? timestamp(new Date(0))).getTime();
}
