// Pods that only pretend to run: each gets an address of each family, and tests decide what is ready and what ends.
import type { PodRuntime } from '../../src/lab/apiserver/controllers/pods.ts';
import type { KubeObject } from '../../src/lab/apiserver/object.ts';

export interface FakeRuntime extends PodRuntime {
  /** Names of pods that run. */
  readonly running: Set<string>;
  /** Names of pods whose readiness probe fails. */
  readonly unready: Set<string>;
  /** The process of a pod ends by itself. */
  exit(name: string, exitCode: number): void;
  /** While set, pods that are told to stop take until it is resolved. */
  holdStops: Promise<void> | undefined;
}

export function fakeRuntime(): FakeRuntime {
  const exits = new Map<string, (exitCode: number) => void>();
  const running = new Set<string>();
  const unready = new Set<string>();
  let next = 10;
  const runtime: FakeRuntime = {
    running,
    unready,
    holdStops: undefined,
    exit: (name, exitCode) => exits.get(name)?.(exitCode),
    async start({ metadata }, exited) {
      exits.set(metadata.name, exited);
      running.add(metadata.name);
      next++;
      return { podIPs: [`10.244.1.${next}`, `fd00:10:244:1::${next.toString(16)}`] };
    },
    async stop({ metadata }) {
      await runtime.holdStops;
      running.delete(metadata.name);
    },
    isReady: async ({ metadata }) => !unready.has(metadata.name),
    log: async ({ metadata }) => `a line from ${metadata.name}\n`,
  };
  return runtime;
}

/** A node that takes pods. */
export function readyNode(name: string, number: number, zone: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': name, 'topology.kubernetes.io/zone': zone } },
    spec: { podCIDR: `10.244.${number}.0/24`, podCIDRs: [`10.244.${number}.0/24`] },
    status: {
      addresses: [
        { type: 'InternalIP', address: `192.0.2.${number}` },
        { type: 'Hostname', address: name },
      ],
      capacity: { cpu: '2', memory: '1Gi', pods: '110' },
      allocatable: { cpu: '2', memory: '1Gi', pods: '110' },
      conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'the node is ready' }],
      nodeInfo: { kubeletVersion: 'v1.36.4', osImage: 'lab', kernelVersion: '6.1', containerRuntimeVersion: 'lab://1' },
    },
  };
}
