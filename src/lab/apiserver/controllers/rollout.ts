// How large each replica set of a deployment should be right now. Pure: the deployment and its sets in, sizes out.
import type { Deployment, ReplicaSet } from '../types.ts';

export interface Size {
  readonly replicaSet: ReplicaSet;
  readonly replicas: number;
}

export function rolloutSizes(
  { spec }: Deployment,
  current: ReplicaSet | undefined,
  sets: readonly ReplicaSet[],
): readonly Size[] {
  const wanted = spec.replicas ?? 1;
  const old = sets.filter((set) => set !== current).sort(byAge);
  // Paused, with a template nobody has rolled out: what there is follows the scale, nothing moves on.
  if (!current) return old.slice(-1).map((replicaSet) => ({ replicaSet, replicas: wanted }));
  // Paused on the way: every set stays as it is.
  if (spec.paused && old.some((set) => (set.spec.replicas ?? 0) > 0)) return [];
  if (spec.strategy?.type === 'Recreate') return recreated(wanted, current, old);
  return rolled(wanted, limits(spec), current, old);
}

/** All old pods end before the first new one starts. */
function recreated(wanted: number, current: ReplicaSet, old: readonly ReplicaSet[]): Size[] {
  const isOldGone = old.every(({ status }) => !status?.replicas);
  return [
    ...old.map((replicaSet) => ({ replicaSet, replicas: 0 })),
    { replicaSet: current, replicas: isOldGone ? wanted : (current.spec.replicas ?? 0) },
  ];
}

function rolled(
  wanted: number,
  { surge, unavailable }: Limits,
  current: ReplicaSet,
  old: readonly ReplicaSet[],
): Size[] {
  const oldTotal = total(old);
  const held = current.spec.replicas ?? 0;
  // Upwards as far as the surge allows; downwards at once.
  const room = Math.max(0, wanted + surge - oldTotal - held);
  const replicas = held >= wanted ? wanted : Math.min(wanted, held + room);

  const minimum = wanted - unavailable;
  const notYetAvailable = replicas - Math.min(replicas, current.status?.availableReplicas ?? 0);
  let mayGo = Math.max(0, oldTotal + replicas - minimum - notYetAvailable);
  const shrunk = old.map((replicaSet) => {
    const size = replicaSet.spec.replicas ?? 0;
    const goes = Math.min(size, mayGo);
    mayGo -= goes;
    return { replicaSet, replicas: size - goes };
  });
  return [...shrunk, { replicaSet: current, replicas }];
}

interface Limits {
  readonly surge: number;
  readonly unavailable: number;
}

/** Numbers of the rolling update, for the status too. */
export function limits({ replicas = 1, strategy }: Deployment['spec']): Limits {
  const surge = share(strategy?.rollingUpdate?.maxSurge ?? '25%', replicas, Math.ceil);
  const unavailable = share(strategy?.rollingUpdate?.maxUnavailable ?? '25%', replicas, Math.floor);
  // With neither, nothing could ever move.
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

function share(value: number | string, of: number, round: (value: number) => number): number {
  return typeof value === 'number' ? value : round((Number.parseInt(value, 10) / 100) * of);
}

function total(sets: readonly ReplicaSet[]): number {
  return sets.reduce((sum, { spec }) => sum + (spec.replicas ?? 0), 0);
}

function byAge(a: ReplicaSet, b: ReplicaSet): number {
  return Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion);
}
