// A cluster with an address of every kind, in both families: what clients ask while the agent is stopped, killed, replaced.
import type { Manifest } from '../../support/golden.ts';
import type { AskedTarget } from './asker.ts';

export const CLUSTER_IP = '10.96.40.1';
export const CLUSTER_IP6 = 'fd00:10:96::4001';
export const EXTERNAL_IP = '198.51.100.40';
export const LB_IP = '203.0.113.40';
export const NODE_IP = '192.168.50.1';
export const NODE_PORT = 30040;
export const UDP_NODE_PORT = 30053;
export const LOCAL_LB_IP = '203.0.113.41';
export const HEALTH_PORT = 32041;
export const POD = { a1: '10.244.1.11', a2: '10.244.1.12', b1: '10.244.2.11', b2: '10.244.2.12' } as const;

type PodName = keyof typeof POD;

const PORTS = [
  { name: 'http', port: 80, protocol: 'TCP', nodePort: NODE_PORT },
  { name: 'dns', port: 53, protocol: 'UDP', nodePort: UDP_NODE_PORT },
];

export const WEB: Manifest = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'shop', name: 'web' },
  spec: {
    type: 'LoadBalancer',
    clusterIP: CLUSTER_IP,
    clusterIPs: [CLUSTER_IP, CLUSTER_IP6],
    ipFamilies: ['IPv4', 'IPv6'],
    ipFamilyPolicy: 'RequireDualStack',
    externalIPs: [EXTERNAL_IP],
    ports: PORTS,
  },
  status: { loadBalancer: { ingress: [{ ip: LB_IP, ipMode: 'VIP' }] } },
};

/** Policy Local, with a port for health checks. */
export const EDGE: Manifest = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'shop', name: 'edge' },
  spec: {
    type: 'LoadBalancer',
    clusterIP: '10.96.40.2',
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: HEALTH_PORT,
    ports: [{ name: 'http', port: 80, protocol: 'TCP', nodePort: 30041 }],
  },
  status: { loadBalancer: { ingress: [{ ip: LOCAL_LB_IP, ipMode: 'VIP' }] } },
};

/** The slices of a service, in both families, with these pods ready. */
export function slices(name: 'web' | 'edge', ...pods: readonly PodName[]): readonly Manifest[] {
  const families = name === 'web' ? (['IPv4', 'IPv6'] as const) : (['IPv4'] as const);
  return families.map((family) => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      namespace: 'shop',
      name: `${name}-${family.toLowerCase()}`,
      labels: { 'kubernetes.io/service-name': name },
    },
    addressType: family,
    ports: PORTS.map(({ name: port, protocol }) => ({ name: port, protocol, port: 8080 })),
    endpoints: pods.map((pod) => ({
      addresses: [family === 'IPv4' ? POD[pod] : ip6(pod)],
      conditions: { ready: true },
      nodeName: pod.startsWith('a') ? 'n1' : 'n2',
    })),
  }));
}

function ip6(pod: PodName): string {
  return `fd00:10:244:${pod.startsWith('a') ? 1 : 2}::1${pod.slice(1)}`;
}

export const SHOP: readonly Manifest[] = [WEB, EDGE, ...slices('web', 'a1', 'b1'), ...slices('edge', 'a1', 'b1')];

const tcp = (ip: string, port = 80): AskedTarget => ({ kind: 'tcp', ip, port });

/** Who asks what: outside, in a pod, on the node itself. */
export const ASKED: Readonly<Record<string, readonly AskedTarget[]>> = {
  x: [
    tcp(CLUSTER_IP),
    tcp(NODE_IP, NODE_PORT),
    tcp(LB_IP),
    tcp(LOCAL_LB_IP),
    { kind: 'udp-flow', ip: LB_IP, port: 53 },
  ],
  a2: [
    tcp(CLUSTER_IP),
    tcp(CLUSTER_IP6),
    { kind: 'udp', ip: CLUSTER_IP, port: 53 },
    { kind: 'udp-flow', ip: CLUSTER_IP, port: 53 },
  ],
  n1: [tcp(CLUSTER_IP), tcp(EXTERNAL_IP)],
};

export const ASKED_COUNT = Object.values(ASKED).flat().length;
