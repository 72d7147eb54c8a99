// Deployments: one replica set per version of the template, and the steps from the old ones to the new one.
import { createHash } from 'node:crypto';
import { copy, sameJson, timestamp } from '../object.ts';
import type { Condition, Deployment, PodTemplate, ReplicaSet } from '../types.ts';
import type { World } from '../world.ts';
import { type Controller, controllerKey, ownKey, splitKey } from './controller.ts';
import { recordEvent } from './events.ts';
import { add, drop, find, ownedBy, ownerReference, replace, replaceStatus, withCondition } from './objects.ts';
import { limits, rolloutSizes } from './rollout.ts';

const COMPONENT = 'deployment-controller';
const HASH_LABEL = 'pod-template-hash';
const REVISION = 'deployment.kubernetes.io/revision';

export function deploymentController(world: World): Controller {
  return {
    watches: { deployments: ownKey, replicasets: controllerKey('Deployment') },
    reconcile(key) {
      const { namespace, name } = splitKey(key);
      const deployment = find<Deployment>(world, 'deployments', namespace, name);
      if (!deployment || deployment.metadata.deletionTimestamp) return;
      const isCurrent = ({ spec }: ReplicaSet) => sameTemplate(spec.template, deployment.spec.template);
      let sets = ownedBy<ReplicaSet>(world, 'replicasets', deployment);
      if (!deployment.spec.paused && !sets.some(isCurrent)) {
        addReplicaSet(world, deployment, sets);
        sets = ownedBy<ReplicaSet>(world, 'replicasets', deployment);
      }
      const current = sets.find(isCurrent);
      if (current) setRevision(world, deployment, current, sets);
      for (const { replicaSet, replicas } of rolloutSizes(deployment, current, sets)) {
        resize(world, deployment, replicaSet, replicas);
      }
      forgetOld(world, deployment, current);
      writeStatus(world, deployment, isCurrent);
    },
  };
}

function addReplicaSet(world: World, deployment: Deployment, sets: readonly ReplicaSet[]): void {
  const { template, selector } = deployment.spec;
  const hash = templateHash(template);
  const labels = { ...template.metadata?.labels, [HASH_LABEL]: hash };
  add<ReplicaSet>(world, 'replicasets', {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${deployment.metadata.name}-${hash}`,
      ...(deployment.metadata.namespace && { namespace: deployment.metadata.namespace }),
      labels,
      annotations: { ...ownAnnotations(deployment), [REVISION]: String(latestRevision(sets) + 1) },
      ownerReferences: [ownerReference(deployment)],
    },
    spec: {
      replicas: 0,
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [HASH_LABEL]: hash } },
      template: { ...copy(template), metadata: { ...template.metadata, labels } },
    },
  });
}

function ownAnnotations({ metadata }: Deployment): { [key: string]: string } {
  const entries = Object.entries(metadata.annotations ?? {});
  return Object.fromEntries(entries.filter(([key]) => key !== 'kubectl.kubernetes.io/last-applied-configuration'));
}

/** Short, and made of letters that a name may have. */
function templateHash(template: PodTemplate): string {
  const digest = createHash('sha256').update(JSON.stringify(template)).digest();
  const letters = 'bcdf2456789';
  return Array.from(digest.subarray(0, 10), (byte) => letters[byte % letters.length]).join('');
}

function sameTemplate(held: PodTemplate, wanted: PodTemplate): boolean {
  const { [HASH_LABEL]: _hash, ...labels } = held.metadata?.labels ?? {};
  return sameJson(
    { ...held, metadata: { ...held.metadata, labels } },
    { ...wanted, metadata: { labels: {}, ...wanted.metadata } },
  );
}

function revisionOf({ metadata }: ReplicaSet): number {
  return Number(metadata.annotations?.[REVISION] ?? 0);
}

function latestRevision(sets: readonly ReplicaSet[]): number {
  return Math.max(0, ...sets.map(revisionOf));
}

/** The current replica set has the highest revision, also after a rollback to an old one. */
function setRevision(world: World, deployment: Deployment, current: ReplicaSet, sets: readonly ReplicaSet[]): void {
  const others = latestRevision(sets.filter((set) => set !== current));
  const revision = revisionOf(current) > others ? revisionOf(current) : others + 1;
  if (revision !== revisionOf(current)) annotate(world, 'replicasets', current, revision);
  if (deployment.metadata.annotations?.[REVISION] !== String(revision))
    annotate(world, 'deployments', deployment, revision);
}

function annotate(
  world: World,
  plural: string,
  { metadata: { namespace, name } }: Deployment | ReplicaSet,
  revision: number,
): void {
  const object = find<Deployment>(world, plural, namespace, name);
  if (!object) return;
  const annotations = { ...object.metadata.annotations, [REVISION]: String(revision) };
  replace(world, plural, { ...object, metadata: { ...object.metadata, annotations } });
}

function resize(world: World, deployment: Deployment, { metadata }: ReplicaSet, replicas: number): void {
  const replicaSet = find<ReplicaSet>(world, 'replicasets', metadata.namespace, metadata.name);
  const before = replicaSet?.spec.replicas ?? 0;
  if (!replicaSet || before === replicas) return;
  replace(world, 'replicasets', { ...replicaSet, spec: { ...replicaSet.spec, replicas } });
  const direction = replicas > before ? 'up' : 'down';
  const message = `Scaled ${direction} replica set ${metadata.name} from ${before} to ${replicas}`;
  recordEvent(world, deployment, COMPONENT, 'ScalingReplicaSet', message);
}

function forgetOld(world: World, deployment: Deployment, current: ReplicaSet | undefined): void {
  const empty = ownedBy<ReplicaSet>(world, 'replicasets', deployment)
    .filter(
      ({ metadata, spec, status }) =>
        metadata.uid !== current?.metadata.uid && spec.replicas === 0 && !status?.replicas,
    )
    .sort((a, b) => revisionOf(a) - revisionOf(b));
  const excess = empty.length - (deployment.spec.revisionHistoryLimit ?? 10);
  for (const replicaSet of empty.slice(0, Math.max(0, excess))) drop(world, 'replicasets', replicaSet);
}

function writeStatus(world: World, { metadata }: Deployment, isCurrent: (set: ReplicaSet) => boolean): void {
  const deployment = find<Deployment>(world, 'deployments', metadata.namespace, metadata.name);
  if (!deployment) return;
  const sets = ownedBy<ReplicaSet>(world, 'replicasets', deployment);
  const sum = (field: 'replicas' | 'readyReplicas' | 'availableReplicas', of = sets) =>
    of.reduce((total, { status }) => total + (status?.[field] ?? 0), 0);
  const wanted = deployment.spec.replicas ?? 1;
  const counts = {
    replicas: sum('replicas'),
    updatedReplicas: sum('replicas', sets.filter(isCurrent)),
    readyReplicas: sum('readyReplicas'),
    availableReplicas: sum('availableReplicas'),
    unavailableReplicas: Math.max(0, Math.max(wanted, sum('replicas')) - sum('availableReplicas')),
  };
  const isComplete =
    counts.updatedReplicas === wanted && counts.replicas === wanted && counts.availableReplicas === wanted;
  replaceStatus(world, 'deployments', {
    ...deployment,
    status: {
      observedGeneration: deployment.metadata.generation ?? 1,
      ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
      conditions: conditions(world, deployment, counts.availableReplicas, isComplete, sets.find(isCurrent)),
    },
  });
}

function conditions(
  world: World,
  { metadata, spec, status }: Deployment,
  available: number,
  isComplete: boolean,
  current: ReplicaSet | undefined,
): Condition[] {
  const now = timestamp(world.now());
  const needed = (spec.replicas ?? 1) - limits(spec).unavailable;
  const isAvailable = available >= needed;
  const held = status?.conditions ?? [];
  const availableCondition: Condition = {
    type: 'Available',
    status: isAvailable ? 'True' : 'False',
    reason: isAvailable ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
    message: isAvailable ? 'Deployment has minimum availability.' : 'Deployment does not have minimum availability.',
  };
  const setName = current?.metadata.name ?? metadata.name;
  const progressing: Condition = {
    type: 'Progressing',
    status: 'True',
    reason: isComplete ? 'NewReplicaSetAvailable' : 'ReplicaSetUpdated',
    message: isComplete
      ? `ReplicaSet "${setName}" has successfully progressed.`
      : `ReplicaSet "${setName}" is progressing.`,
  };
  return [availableCondition, progressing].reduce((sofar, condition) => {
    const same = held.find(({ type }) => type === condition.type);
    const isUnchanged = same?.status === condition.status && same?.reason === condition.reason;
    const lastUpdateTime = isUnchanged ? (same?.lastUpdateTime ?? now) : now;
    return withCondition(sofar, { ...condition, lastUpdateTime }, now);
  }, held);
}
