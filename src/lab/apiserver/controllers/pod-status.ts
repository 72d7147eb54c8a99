// The status of a pod at each turn of its life. Pure: the pod and what was told before in, what is told now out.
import type { Condition, ContainerState, ContainerStatus, Node, Pod, PodStatus } from '../types.ts';
import { withCondition } from './objects.ts';

export function waitingStatus(
  pod: Pod,
  held: PodStatus,
  now: string,
  restarts: number,
  host: Node | undefined,
): PodStatus {
  const hostIp = host?.status?.addresses?.find(({ type }) => type === 'InternalIP')?.address;
  const statuses = pod.spec.containers.map((container, i): ContainerStatus => {
    const before = held.containerStatuses?.[i];
    return {
      name: container.name,
      image: container.image ?? '',
      imageID: '',
      ready: false,
      started: false,
      restartCount: restarts,
      state: { waiting: { reason: 'ContainerCreating' } },
      ...(before?.lastState && { lastState: before.lastState }),
    };
  });
  return {
    ...held,
    phase: held.phase ?? 'Pending',
    startTime: held.startTime ?? now,
    ...(hostIp && { hostIP: hostIp, hostIPs: [{ ip: hostIp }] }),
    containerStatuses: statuses,
    conditions: conditionsFor(held, now, false),
  };
}

export function runningStatus(
  pod: Pod,
  held: PodStatus,
  now: string,
  restarts: number,
  podIPs: readonly string[],
  isReady: boolean,
): PodStatus {
  const statuses = pod.spec.containers.map((container, i): ContainerStatus => {
    const before = held.containerStatuses?.[i];
    return {
      name: container.name,
      image: container.image ?? '',
      imageID: container.image ?? '',
      containerID: `lab://${pod.metadata.uid}`,
      ready: isReady,
      started: true,
      restartCount: restarts,
      state: { running: { startedAt: now } },
      ...(before?.lastState && { lastState: before.lastState }),
    };
  });
  const first = podIPs[0];
  return {
    ...held,
    phase: 'Running',
    ...(first && { podIP: first, podIPs: podIPs.map((ip) => ({ ip })) }),
    containerStatuses: statuses,
    conditions: conditionsFor(held, now, isReady),
  };
}

/** Its process has ended and will be started again. */
export function exitedStatus(held: PodStatus, now: string, exitCode: number): PodStatus {
  return {
    ...held,
    containerStatuses: (held.containerStatuses ?? []).map((container) => ({
      ...container,
      ready: false,
      started: false,
      state: { waiting: { reason: 'CrashLoopBackOff' } },
      lastState: { terminated: terminated(container, now, exitCode) },
    })),
    conditions: conditionsFor(held, now, false),
  };
}

/** Its process has ended and stays so. */
export function finishedStatus(held: PodStatus, now: string, exitCode: number): PodStatus {
  return {
    ...held,
    phase: exitCode === 0 ? 'Succeeded' : 'Failed',
    containerStatuses: (held.containerStatuses ?? []).map((container) => ({
      ...container,
      ready: false,
      started: false,
      state: { terminated: terminated(container, now, exitCode) },
    })),
    conditions: conditionsFor(held, now, false),
  };
}

function terminated(
  { state }: ContainerStatus,
  now: string,
  exitCode: number,
): NonNullable<ContainerState['terminated']> {
  return {
    reason: exitCode === 0 ? 'Completed' : 'Error',
    exitCode,
    ...(state?.running?.startedAt && { startedAt: state.running.startedAt }),
    finishedAt: now,
  };
}

export function readyStatus(held: PodStatus, now: string, isReady: boolean): PodStatus {
  return {
    ...held,
    containerStatuses: (held.containerStatuses ?? []).map((container) => ({ ...container, ready: isReady })),
    conditions: conditionsFor(held, now, isReady),
  };
}

function conditionsFor(held: PodStatus, now: string, isReady: boolean): Condition[] {
  const ready = isReady ? 'True' : 'False';
  const wanted: Condition[] = [
    { type: 'PodReadyToStartContainers', status: 'True' },
    { type: 'Initialized', status: 'True' },
    { type: 'Ready', status: ready, ...(!isReady && { reason: 'ContainersNotReady' }) },
    { type: 'ContainersReady', status: ready, ...(!isReady && { reason: 'ContainersNotReady' }) },
    { type: 'PodScheduled', status: 'True' },
  ];
  return wanted.reduce((sofar, condition) => withCondition(sofar, condition, now), held.conditions ?? []);
}
