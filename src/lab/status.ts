// What a lab looks like now, as plain data: for the start screen and `portolan lab status`.
import type { Pod, Service } from './apiserver/types.ts';
import type { Lab } from './lab.ts';

export interface LabStatus {
  readonly url: string;
  /** The console of all nodes. */
  readonly consoleUrl: string;
  readonly kubeconfig: string;
  readonly nodeCIDRs: readonly string[];
  readonly podCIDRs: readonly string[];
  readonly client: { readonly name: string; readonly ips: readonly string[] };
  readonly nodes: readonly NodeStatus[];
  readonly services: readonly ServiceStatus[];
}

export interface NodeStatus {
  readonly name: string;
  readonly ips: readonly string[];
  readonly podCIDRs: readonly string[];
  /** What its agent says it runs in; undefined if it says nothing. */
  readonly mode: string | undefined;
  readonly isHealthy: boolean;
  readonly pods: readonly PodStatusLine[];
}

export interface PodStatusLine {
  readonly namespace: string;
  readonly name: string;
  readonly ips: readonly string[];
  readonly phase: string;
}

export interface ServiceStatus {
  readonly namespace: string;
  readonly name: string;
  readonly type: string;
  readonly ips: readonly string[];
  readonly ports: readonly string[];
  readonly ingress: readonly string[];
}

export async function labStatus(lab: Lab, kubeconfig: string): Promise<LabStatus> {
  const pods = lab.server.list('pods') as Pod[];
  const nodes = await Promise.all(
    lab.cluster.nodes.map(async ({ name, ips, podCIDRs }): Promise<NodeStatus> => {
      const agent = lab.agents.get(name)!;
      const [isHealthy, mode] = await Promise.all([agent.isHealthy(), agent.runningMode()]);
      return {
        name,
        ips,
        podCIDRs,
        mode,
        isHealthy,
        pods: pods.filter((pod) => pod.spec.nodeName === name).map(podLine),
      };
    }),
  );
  return {
    url: lab.server.url,
    consoleUrl: lab.consoleUrl,
    kubeconfig,
    nodeCIDRs: lab.options.networks.nodes,
    podCIDRs: lab.options.networks.pods,
    client: lab.cluster.client,
    nodes,
    services: (lab.server.list('services') as Service[]).map(serviceLine),
  };
}

function podLine({ metadata, status }: Pod): PodStatusLine {
  return {
    namespace: metadata.namespace ?? 'default',
    name: metadata.name,
    ips: (status?.podIPs ?? []).map(({ ip }) => ip),
    phase: metadata.deletionTimestamp ? 'Terminating' : (status?.phase ?? 'Pending'),
  };
}

function serviceLine({ metadata, spec, status }: Service): ServiceStatus {
  return {
    namespace: metadata.namespace ?? 'default',
    name: metadata.name,
    type: spec.type ?? 'ClusterIP',
    ips: spec.clusterIPs ?? [],
    ports: (spec.ports ?? []).map(
      ({ port, protocol = 'TCP', nodePort }) => `${port}${nodePort ? `:${nodePort}` : ''}/${protocol}`,
    ),
    ingress: (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? []),
  };
}
