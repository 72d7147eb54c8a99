// What can be broken in a lab, one by one. In: the lab and a target. Out: what was done, and how to undo what does not heal
// by itself.
import type { Node, Pod } from '../apiserver/types.ts';
import type { Lab } from '../lab.ts';
import { LAN } from '../network/cluster.ts';

export interface Struck {
  /** `node1 is cut off` */
  readonly what: string;
  /** Absent where the cluster heals itself. */
  readonly heal?: () => Promise<void>;
}

export interface FaultKind {
  readonly about: string;
  readonly target: 'pod' | 'node' | 'none';
  strike(lab: Lab, target: string): Promise<Struck>;
}

export const FAULT_KINDS: Readonly<Record<string, FaultKind>> = {
  'kill-pod': {
    about: 'delete a pod at once; its deployment makes a new one',
    target: 'pod',
    strike: async (lab, target) => {
      const { namespace, name } = podNamed(lab, target).metadata;
      lab.server.delete('pods', namespace, name, { graceSeconds: 0 });
      return { what: `pod ${namespace}/${name} was killed` };
    },
  },
  'crash-pod': {
    about: "end a pod's program; it is started again in the same pod",
    target: 'pod',
    strike: async (lab, target) => {
      const pod = podNamed(lab, target);
      lab.pods.crash(pod);
      return { what: `the program of pod ${pod.metadata.namespace}/${pod.metadata.name} crashed` };
    },
  },
  drain: {
    about: 'let no new pod onto a node, and move those that are there',
    target: 'node',
    strike: async (lab, node) => {
      setUnschedulable(lab, node, true);
      for (const { metadata } of podsOn(lab, node)) lab.server.delete('pods', metadata.namespace, metadata.name);
      return { what: `${node} is drained`, heal: async () => setUnschedulable(lab, node, false) };
    },
  },
  'cut-link': {
    about: "drop every packet on a node's cable; its agent still reaches the API server",
    target: 'node',
    strike: async (lab, node) => {
      const table = `cut-${node}`;
      // On the router, so that the node itself stays as it is, routes included.
      const rules = `table inet ${table} {
        chain cut { type filter hook prerouting priority -300
          iifname "${node}" drop
        }
        chain out { type filter hook postrouting priority -300
          oifname "${node}" drop
        }
      }`;
      await run(lab, LAN, ['nft', '-f', '-'], rules);
      return {
        what: `the cable of ${node} is cut`,
        heal: async () => void (await run(lab, LAN, ['nft', 'delete', 'table', 'inet', table])),
      };
    },
  },
  'flush-rules': {
    about: 'delete all packet filter rules of a node; its agent writes them again',
    target: 'node',
    strike: async (lab, node) => {
      await run(lab, node, ['nft', 'flush', 'ruleset']);
      return { what: `the rules of ${node} are gone` };
    },
  },
  'kill-agent': {
    about: "kill a node's kube-proxy; it is started again",
    target: 'node',
    strike: async (lab, node) => {
      await lab.agents.get(node)!.kill();
      return { what: `the agent of ${node} was killed` };
    },
  },
  'stop-api': {
    about: 'refuse every connection to the API server',
    target: 'none',
    strike: async (lab) => {
      await lab.server.faults.refuseConnections();
      return { what: 'the API server is stopped', heal: () => lab.server.faults.acceptConnections() };
    },
  },
};

function podNamed(lab: Lab, target: string): Pod {
  const { host } = lab.place(target);
  return lab.runningPods().find((running) => running.host === host)!.pod;
}

function podsOn(lab: Lab, node: string): Pod[] {
  return (lab.server.list('pods') as Pod[]).filter(({ spec }) => spec.nodeName === node && !spec.hostNetwork);
}

function setUnschedulable(lab: Lab, name: string, unschedulable: boolean): void {
  const { status: _kept, ...node } = lab.server.get('nodes', undefined, name) as Node;
  lab.server.apply({ ...node, spec: { ...node.spec, unschedulable } });
}

async function run(lab: Lab, host: string, argv: readonly string[], stdin = ''): Promise<string> {
  const { status, stdout, stderr } = await lab.network.exec(host, argv, { stdin });
  if (status !== 0) throw new Error(`${argv.join(' ')} in ${host}: ${stderr}`);
  return stdout;
}
