// Puts pods on nodes: those that fit, and among them the one where the pod's siblings are fewest.
import { timestamp } from '../object.ts';
import type { Node, Pod, Taint, Toleration } from '../types.ts';
import type { World } from '../world.ts';
import { type Controller, ownKey, splitKey } from './controller.ts';
import { recordEvent } from './events.ts';
import { all, find, replace, replaceStatus, withCondition } from './objects.ts';
import { isPodActive, isPodTerminating } from './pod-state.ts';

const COMPONENT = 'default-scheduler';

export function schedulerController(world: World): Controller {
  return {
    watches: {
      pods: (change) => (!(change.now.object as Pod).spec.nodeName ? ownKey(change) : []),
      // A node that comes, or changes, may be what waiting pods wait for.
      nodes: () => waitingPods(world).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
    },
    reconcile(key) {
      const { namespace, name } = splitKey(key);
      const pod = find<Pod>(world, 'pods', namespace, name);
      if (!pod || pod.spec.nodeName || isPodTerminating(pod)) return;
      const nodes = all<Node>(world, 'nodes');
      const fitting = nodes.filter((node) => whyNot(pod, node) === undefined);
      const chosen = fewestSiblings(pod, fitting, all<Pod>(world, 'pods').filter(isPodActive));
      if (chosen) bind(world, pod, chosen);
      else explain(world, pod, nodes);
    },
  };
}

function waitingPods(world: World): Pod[] {
  return all<Pod>(world, 'pods').filter(({ spec }) => !spec.nodeName);
}

/** Why a pod cannot be on a node, as a person would count the reasons. */
function whyNot({ spec }: Pod, node: Node): string | undefined {
  const labels = node.metadata.labels ?? {};
  if (node.spec?.unschedulable) return 'node(s) were unschedulable';
  if (node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status !== 'True'))
    return 'node(s) were not ready';
  if (!Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => labels[key] === value)) {
    return "node(s) didn't match Pod's node affinity/selector";
  }
  const taint = (node.spec?.taints ?? []).find(
    (t) => t.effect !== 'PreferNoSchedule' && !isTolerated(t, spec.tolerations ?? []),
  );
  return taint && `node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`;
}

function isTolerated(taint: Taint, tolerations: readonly Toleration[]): boolean {
  return tolerations.some(
    ({ key, operator = 'Equal', value = '', effect }) =>
      (!effect || effect === taint.effect) &&
      (operator === 'Exists' ? !key || key === taint.key : key === taint.key && value === (taint.value ?? '')),
  );
}

function fewestSiblings(pod: Pod, nodes: readonly Node[], pods: readonly Pod[]): Node | undefined {
  const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller)?.uid;
  const count = (node: Node, ofOwner: boolean) =>
    pods.filter(
      ({ spec, metadata }) =>
        spec.nodeName === node.metadata.name &&
        (!ofOwner || metadata.ownerReferences?.some(({ uid }) => uid === owner)),
    ).length;
  const ranked = nodes.map((node) => ({ node, siblings: count(node, true), pods: count(node, false) }));
  ranked.sort((a, b) => a.siblings - b.siblings || a.pods - b.pods);
  return ranked[0]?.node;
}

function bind(world: World, pod: Pod, node: Node): void {
  const bound = replace(world, 'pods', { ...pod, spec: { ...pod.spec, nodeName: node.metadata.name } });
  const now = timestamp(world.now());
  const conditions = withCondition(bound.status?.conditions ?? [], { type: 'PodScheduled', status: 'True' }, now);
  replaceStatus(world, 'pods', { ...bound, status: { ...bound.status, conditions } });
  const { namespace, name } = pod.metadata;
  recordEvent(
    world,
    bound,
    COMPONENT,
    'Scheduled',
    `Successfully assigned ${namespace}/${name} to ${node.metadata.name}`,
  );
}

function explain(world: World, pod: Pod, nodes: readonly Node[]): void {
  const counts = new Map<string, number>();
  for (const node of nodes) {
    const why = whyNot(pod, node);
    if (why) counts.set(why, (counts.get(why) ?? 0) + 1);
  }
  const reasons = [...counts].map(([why, count]) => `${count} ${why}`).sort();
  const message =
    nodes.length === 0
      ? 'no nodes available to schedule pods'
      : `0/${nodes.length} nodes are available: ${reasons.join(', ')}.`;
  const held = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (held?.message === message) return;
  const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message };
  const conditions = withCondition(pod.status?.conditions ?? [], condition, timestamp(world.now()));
  replaceStatus(world, 'pods', { ...pod, status: { ...pod.status, phase: 'Pending', conditions } });
  recordEvent(world, pod, COMPONENT, 'FailedScheduling', message, 'Warning');
}
