// Runs pods, as a kubelet would: starts them through the runtime, tells their status, ends them when they are deleted.
// What "running" means is the runtime's business: the lab makes network namespaces, tests pretend.
import { timestamp } from '../object.ts';
import type { Node, Pod, PodStatus } from '../types.ts';
import type { World } from '../world.ts';
import { type Controller, ownKey, splitKey } from './controller.ts';
import { recordEvent } from './events.ts';
import { drop, find, replaceStatus } from './objects.ts';
import { isPodTerminating } from './pod-state.ts';
import { exitedStatus, readyStatus, runningStatus, waitingStatus } from './pod-status.ts';

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

type Life = {
  stopping: boolean;
  started: Promise<void>;
  restarts: number;
  probe?: NodeJS.Timeout;
  retry?: NodeJS.Timeout;
};

const RESTART_MS = 1000;

export function podController(world: World, runtime: PodRuntime, onProblem: (problem: unknown) => void): Pods {
  const lives = new Map<string, Life & { pod: Pod }>();

  const current = (pod: Pod): Pod | undefined => {
    const found = find<Pod>(world, 'pods', pod.metadata.namespace, pod.metadata.name);
    return found?.metadata.uid === pod.metadata.uid ? found : undefined;
  };
  const tell = (pod: Pod, status: (held: PodStatus, now: string) => PodStatus) => {
    const found = current(pod);
    if (found) replaceStatus(world, 'pods', { ...found, status: status(found.status ?? {}, timestamp(world.now())) });
  };

  const run = async (pod: Pod, life: Life): Promise<void> => {
    const host = find<Node>(world, 'nodes', undefined, pod.spec.nodeName ?? '');
    tell(pod, (held, now) => waitingStatus(pod, held, now, life.restarts, host));
    try {
      const { podIPs } = await runtime.start(pod, (exitCode) => restart(pod, life, exitCode));
      if (life.stopping) return;
      const needsProbe =
        runtime.isReady !== undefined && pod.spec.containers.some(({ readinessProbe }) => readinessProbe);
      tell(pod, (held, now) => runningStatus(pod, held, now, life.restarts, podIPs, !needsProbe));
      for (const { name } of pod.spec.containers) {
        recordEvent(world, pod, 'kubelet', 'Started', `Started container ${name}`);
      }
      if (needsProbe) probe(pod, life);
    } catch (problem) {
      onProblem(problem);
      recordEvent(
        world,
        pod,
        'kubelet',
        'Failed',
        `Error: ${problem instanceof Error ? problem.message : problem}`,
        'Warning',
      );
      if (!life.stopping) life.retry = setTimeout(() => void begin(pod, life), RESTART_MS);
    }
  };
  const begin = (pod: Pod, life: Life): Promise<void> => {
    life.started = run(pod, life);
    return life.started;
  };
  const restart = (pod: Pod, life: Life, exitCode: number) => {
    if (life.stopping) return;
    clearTimeout(life.probe);
    life.restarts++;
    tell(pod, (held, now) => exitedStatus(held, now, exitCode));
    life.retry = setTimeout(() => void begin(pod, life), RESTART_MS);
  };
  const probe = (pod: Pod, life: Life) => {
    const seconds = Math.max(
      1,
      pod.spec.containers.find(({ readinessProbe }) => readinessProbe)?.readinessProbe?.periodSeconds ?? 10,
    );
    const ask = async () => {
      const isReady = await runtime.isReady!(pod).catch(() => false);
      if (life.stopping) return;
      tell(pod, (held, now) => readyStatus(held, now, isReady));
      life.probe = setTimeout(() => void ask(), seconds * 1000);
    };
    void ask();
  };
  const end = async (uid: string): Promise<void> => {
    const life = lives.get(uid);
    if (!life || life.stopping) return;
    life.stopping = true;
    clearTimeout(life.probe);
    clearTimeout(life.retry);
    await life.started;
    await runtime.stop(life.pod).catch(onProblem);
    lives.delete(uid);
    const left = current(life.pod);
    if (left && isPodTerminating(left)) drop(world, 'pods', left, 0);
  };

  return {
    controller: {
      watches: {
        pods: (change) => {
          // A pod that was removed by force has no more key to look at, yet what runs of it must end.
          if (change.type === 'DELETED') void end(change.now.object.metadata.uid ?? '');
          return ownKey(change);
        },
      },
      reconcile(key) {
        const { namespace, name } = splitKey(key);
        const pod = find<Pod>(world, 'pods', namespace, name);
        const uid = pod?.metadata.uid;
        if (!pod || !uid) return;
        if (isPodTerminating(pod)) {
          if (lives.has(uid)) void endTerminating(world, pod, () => end(uid));
          else if (pod.spec.nodeName) drop(world, 'pods', pod, 0);
        } else if (pod.spec.nodeName && !lives.has(uid)) {
          const life = { pod, stopping: false, started: Promise.resolve(), restarts: 0 };
          lives.set(uid, life);
          void begin(pod, life);
        }
      },
    },
    async stop() {
      await Promise.all([...lives.keys()].map(end));
    },
  };
}

async function endTerminating(world: World, pod: Pod, end: () => Promise<void>): Promise<void> {
  for (const { name } of pod.spec.containers)
    recordEvent(world, pod, 'kubelet', 'Killing', `Stopping container ${name}`);
  await end();
}
