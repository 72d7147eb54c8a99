// What a cluster has before anybody creates anything: its namespaces, its Service networks and the Service of its API.
import { addressAt } from './allocations.ts';
import type { KubeObject } from './object.ts';

export function firstObjects(
  serviceCIDRs: readonly string[],
  advertise: { readonly ip: string; readonly port: number } | undefined,
): KubeObject[] {
  const namespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease'].map(namespaceObject);
  return [
    ...namespaces,
    serviceCidr(serviceCIDRs),
    ...(advertise ? kubernetesService(serviceCIDRs[0]!, advertise) : []),
  ];
}

export function namespaceObject(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

function serviceCidr(cidrs: readonly string[]): KubeObject {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'ServiceCIDR',
    metadata: { name: 'kubernetes' },
    spec: { cidrs: [...cidrs] },
    status: {
      conditions: [{ type: 'Ready', status: 'True', reason: '', message: 'Kubernetes Service CIDR is ready' }],
    },
  };
}

function kubernetesService(cidr: string, { ip, port }: { readonly ip: string; readonly port: number }): KubeObject[] {
  const metadata = { name: 'kubernetes', namespace: 'default' };
  const labels = { 'kubernetes.io/service-name': 'kubernetes' };
  const isIPv6 = ip.includes(':');
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { ...metadata, labels: { component: 'apiserver', provider: 'kubernetes' } },
      spec: { clusterIP: addressAt(cidr, 1n), ports: [{ name: 'https', port: 443, targetPort: port }] },
    },
    {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { ...metadata, labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
      subsets: [{ addresses: [{ ip }], ports: [{ name: 'https', port }] }],
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, labels },
      addressType: isIPv6 ? 'IPv6' : 'IPv4',
      endpoints: [{ addresses: [ip], conditions: { ready: true } }],
      ports: [{ name: 'https', port, protocol: 'TCP' }],
    },
  ];
}
