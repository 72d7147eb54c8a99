// Runs pods, as a kubelet would: starts them through the runtime, tells their status, ends them when they are deleted.
// What "running" means is the runtime's business: the lab makes network namespaces, tests pretend.
import { timestamp } from '../object.ts';
import type { Node, Pod, PodStatus } from '../types.ts';
import type { World } from '../world.ts';
import { type Controller, ownKey, splitKey } from './controller.ts';
import { recordEvent } from './events.ts';
import { drop, find, replaceStatus } from './objects.ts';
import { isPodFinished, isPodTerminating } from './pod-state.ts';
import { exitedStatus, finishedStatus, readyStatus, runningStatus, waitingStatus } from './pod-status.ts';

export interface PodRuntime {
  /** Resolves when the pod runs, with the primary family's address first. `exited` may be called later, when its process has ended by itself. */
  start(pod: Pod, exited: (exitCode: number) => void): Promise<{ readonly podIPs: readonly string[] }>;
  /** Resolves when nothing of the pod is left. */
  stop(pod: Pod): Promise<void>;
  /** Asked again and again for pods that have a readiness probe; without it they are ready when they run. */
  isReady?(pod: Pod): Promise<boolean>;
  log?(pod: Pod): Promise<string>;
}

export interface Pods {
  readonly controller: Controller;
  /** Ends every pod that still runs. */
  stop(): Promise<void>;
}

/** What is known of a pod that runs here. */
interface Life {
  readonly pod: Pod;
  restarts: number;
  started: Promise<void>;
  /** Set once, when the pod is told to end. */
  ended?: Promise<void>;
  probe?: NodeJS.Timeout;
  retry?: NodeJS.Timeout;
}

const KUBELET = 'kubelet';
const RESTART_MS = 1000;

export function podController(world: World, runtime: PodRuntime, onProblem: (problem: unknown) => void): Pods {
  const lives = new Map<string, Life>();

  const current = (pod: Pod): Pod | undefined => {
    const found = find<Pod>(world, 'pods', pod.metadata.namespace, pod.metadata.name);
    return found?.metadata.uid === pod.metadata.uid ? found : undefined;
  };
  const tell = (pod: Pod, status: (held: PodStatus, now: string) => PodStatus) => {
    const found = current(pod);
    if (found) replaceStatus(world, 'pods', { ...found, status: status(found.status ?? {}, timestamp(world.now())) });
  };

  const run = async (life: Life): Promise<void> => {
    const { pod, restarts } = life;
    const host = find<Node>(world, 'nodes', undefined, pod.spec.nodeName ?? '');
    tell(pod, (held, now) => waitingStatus(pod, held, now, restarts, host));
    try {
      const { podIPs } = await runtime.start(pod, (exitCode) => exited(life, exitCode));
      if (life.ended) return;
      const period = runtime.isReady && probePeriodSeconds(pod);
      tell(pod, (held, now) => runningStatus(pod, held, now, restarts, podIPs, period === undefined));
      for (const { name } of pod.spec.containers)
        recordEvent(world, pod, KUBELET, 'Started', `Started container ${name}`);
      if (period !== undefined) void probe(life, restarts, period);
    } catch (problem) {
      onProblem(problem);
      const why = problem instanceof Error ? problem.message : String(problem);
      recordEvent(world, pod, KUBELET, 'Failed', `Error: ${why}`, 'Warning');
      if (!life.ended) life.retry = setTimeout(begin, RESTART_MS, life);
    }
  };
  const begin = (life: Life) => {
    life.started = run(life);
  };
  const exited = (life: Life, exitCode: number) => {
    if (life.ended) return;
    clearTimeout(life.probe);
    const { restartPolicy } = life.pod.spec;
    if (restartPolicy === 'Never' || (restartPolicy === 'OnFailure' && exitCode === 0)) {
      tell(life.pod, (held, now) => finishedStatus(held, now, exitCode));
      return;
    }
    life.restarts++;
    tell(life.pod, (held, now) => exitedStatus(held, now, exitCode));
    life.retry = setTimeout(begin, RESTART_MS, life);
  };
  /** Asks until the pod ends or starts anew, which then asks for itself. */
  const probe = async (life: Life, restarts: number, periodSeconds: number): Promise<void> => {
    const isReady = await runtime.isReady!(life.pod).catch(() => false);
    if (life.ended || life.restarts !== restarts) return;
    tell(life.pod, (held, now) => readyStatus(held, now, isReady));
    life.probe = setTimeout(() => void probe(life, restarts, periodSeconds), periodSeconds * 1000);
  };
  const end = async (life: Life): Promise<void> => {
    clearTimeout(life.probe);
    clearTimeout(life.retry);
    await life.started;
    await runtime.stop(life.pod).catch(onProblem);
    lives.delete(life.pod.metadata.uid ?? '');
    const left = current(life.pod);
    if (left && isPodTerminating(left)) drop(world, 'pods', left, 0);
  };
  const endOnce = (uid: string): Promise<void> | undefined => {
    const life = lives.get(uid);
    if (life) life.ended ??= Promise.resolve().then(() => end(life));
    return life?.ended;
  };

  return {
    controller: {
      watches: {
        pods: (change) => {
          // A pod that was removed by force has no more key to look at, yet what runs of it must end.
          if (change.type === 'DELETED') void endOnce(change.now.object.metadata.uid ?? '');
          return ownKey(change);
        },
      },
      reconcile(key) {
        const { namespace, name } = splitKey(key);
        const pod = find<Pod>(world, 'pods', namespace, name);
        const uid = pod?.metadata.uid;
        if (!pod || !uid) return;
        const life = lives.get(uid);
        if (isPodTerminating(pod)) {
          if (!life) drop(world, 'pods', pod, 0);
          else if (!life.ended) {
            for (const { name: container } of pod.spec.containers) {
              recordEvent(world, pod, KUBELET, 'Killing', `Stopping container ${container}`);
            }
            void endOnce(uid);
          }
        } else if (pod.spec.nodeName && !life && !isPodFinished(pod)) {
          const started: Life = { pod, restarts: 0, started: Promise.resolve() };
          lives.set(uid, started);
          begin(started);
        }
      },
    },
    async stop() {
      await Promise.all([...lives.keys()].map(endOnce));
    },
  };
}

/** How often a pod with a readiness probe is asked; undefined if it has none. */
function probePeriodSeconds({ spec }: Pod): number | undefined {
  const probe = spec.containers.find(({ readinessProbe }) => readinessProbe)?.readinessProbe;
  return probe && Math.max(1, probe.periodSeconds ?? 10);
}
