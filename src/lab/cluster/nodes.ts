// The nodes as the API server shows them: what kubeadm and the kubelets would have written.
import { release } from 'node:os';
import type { KubeObject } from '../apiserver/object.ts';
import type { Cluster, Node } from '../network/cluster.ts';

const VERSION = 'v1.34.0-lab';

/** The first is the control plane, and takes no ordinary pods unless it is alone. */
export function nodeObjects({ nodes }: Cluster, now: Date): KubeObject[] {
  return nodes.map((node, i) => nodeObject(node, i === 0, nodes.length === 1, now));
}

function nodeObject({ name, ips, podCIDRs }: Node, isControl: boolean, isAlone: boolean, now: Date): KubeObject {
  const since = now.toISOString().replace(/\.\d+Z$/, 'Z');
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'topology.kubernetes.io/zone': `zone-${name}`,
        ...(isControl && { 'node-role.kubernetes.io/control-plane': '' }),
      },
    },
    spec: {
      podCIDR: podCIDRs[0],
      podCIDRs: [...podCIDRs],
      ...(isControl &&
        !isAlone && { taints: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }] }),
    },
    status: {
      addresses: [...ips.map((address) => ({ type: 'InternalIP', address })), { type: 'Hostname', address: name }],
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'KubeletReady',
          message: 'the lab runs its pods',
          lastHeartbeatTime: since,
          lastTransitionTime: since,
        },
      ],
      nodeInfo: {
        machineID: name,
        systemUUID: name,
        bootID: name,
        kernelVersion: release(),
        osImage: 'Portolan lab',
        containerRuntimeVersion: 'lab://namespaces',
        kubeletVersion: VERSION,
        kubeProxyVersion: VERSION,
        operatingSystem: 'linux',
        architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      },
    },
  };
}
