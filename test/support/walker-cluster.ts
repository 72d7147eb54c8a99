// Clusters at random, within what the golden network can answer: every kind of Service, endpoints in every condition.
import fc from 'fast-check';
import type { Manifest } from './golden.ts';

type Json = Readonly<Record<string, unknown>>;

export interface RandomService {
  readonly name: string;
  readonly clusterIP: string;
  readonly protocol: 'TCP' | 'UDP';
  readonly nodePort: number;
  readonly externalIP: string | undefined;
  readonly loadBalancerIP: string | undefined;
  readonly isSticky: boolean;
  readonly manifests: readonly Manifest[];
}

const PODS = [
  { ip: '10.244.1.11', nodeName: 'n1' },
  { ip: '10.244.1.12', nodeName: 'n1' },
  { ip: '10.244.2.11', nodeName: 'n2' },
  { ip: '10.244.2.12', nodeName: 'n2' },
];

const condition = fc.constantFrom(
  { ready: true, serving: true, terminating: false },
  { ready: true, serving: true, terminating: false },
  { ready: false, serving: true, terminating: true },
  { ready: false, serving: false, terminating: false },
);

const endpoints: fc.Arbitrary<readonly Json[]> = fc
  .subarray(PODS)
  .chain((pods) => fc.tuple(...pods.map((pod) => condition.map((conditions) => ({ pod, conditions })))))
  .map((all) =>
    (all as { pod: (typeof PODS)[number]; conditions: Json }[]).map(({ pod, conditions }) => ({
      addresses: [pod.ip],
      nodeName: pod.nodeName,
      conditions,
    })),
  );

const policy = fc.constantFrom('Cluster', 'Local');

function service(index: number): fc.Arbitrary<RandomService> {
  return fc
    .record({
      type: fc.constantFrom('ClusterIP', 'NodePort', 'LoadBalancer'),
      protocol: fc.constantFrom('TCP' as const, 'UDP' as const),
      external: policy,
      internal: policy,
      hasExternalIP: fc.boolean(),
      isSticky: fc.integer({ min: 0, max: 4 }).map((n) => n === 0),
      ranges: fc.subarray(['172.20.0.0/25', '192.168.50.0/24', '10.244.1.0/24']),
      endpoints,
    })
    .map((drawn) => {
      const number = 10 + index;
      const clusterIP = `10.96.77.${number}`;
      const isExternal = drawn.type !== 'ClusterIP' || drawn.hasExternalIP;
      const externalIP = drawn.hasExternalIP ? `198.51.100.${number}` : undefined;
      const loadBalancerIP = drawn.type === 'LoadBalancer' ? `203.0.113.${number}` : undefined;
      const nodePort = drawn.type === 'ClusterIP' ? 0 : 30000 + number;
      const metadata = { namespace: 'random', name: `s${number}` };
      const spec = {
        clusterIP,
        type: drawn.type,
        ...(isExternal && { externalTrafficPolicy: drawn.external }),
        internalTrafficPolicy: drawn.internal,
        sessionAffinity: drawn.isSticky ? 'ClientIP' : 'None',
        ...(externalIP && { externalIPs: [externalIP] }),
        ...(loadBalancerIP && { loadBalancerSourceRanges: drawn.ranges }),
        ports: [{ name: 'http', port: 80, protocol: drawn.protocol, ...(nodePort && { nodePort }) }],
      };
      const status = loadBalancerIP ? { loadBalancer: { ingress: [{ ip: loadBalancerIP }] } } : {};
      return {
        name: `random/s${number}`,
        clusterIP,
        protocol: drawn.protocol,
        nodePort,
        externalIP,
        loadBalancerIP,
        isSticky: drawn.isSticky,
        manifests: [
          { apiVersion: 'v1', kind: 'Service', metadata, spec, status },
          {
            apiVersion: 'discovery.k8s.io/v1',
            kind: 'EndpointSlice',
            metadata: { ...metadata, labels: { 'kubernetes.io/service-name': metadata.name } },
            addressType: 'IPv4',
            endpoints: drawn.endpoints,
            ports: [{ name: 'http', port: 8080, protocol: drawn.protocol }],
          },
        ],
      };
    });
}

export function anyCluster(services: number): fc.Arbitrary<readonly RandomService[]> {
  return fc.tuple(...Array.from({ length: services }, (_, i) => service(i)));
}

/** Rules that a host may have around those of the proxy. They concern new connections alone, so that answers come back. */
export const anyForeignRules: fc.Arbitrary<readonly string[]> = fc.subarray([
  '-t filter -I FORWARD -p tcp --dport 8080 -d 10.244.2.11 -j DROP',
  '-t filter -I FORWARD -p udp -m multiport --dports 5353,8080 -m conntrack --ctstate NEW -s 10.244.1.0/24 -j REJECT',
  '-t filter -A INPUT -p tcp -m tcp --dport 30000:30011 -m addrtype --dst-type LOCAL -j REJECT',
  '-t nat -I PREROUTING -d 203.0.113.10 -p tcp -j DNAT --to-destination 10.244.1.12:9090',
  '-t nat -I PREROUTING -m iprange --src-range 172.20.0.1-172.20.0.9 -p tcp --dport 80 -j RETURN',
  '-t nat -I POSTROUTING -s 10.244.1.12 -p tcp --dport 8080 -j MASQUERADE',
  '-t mangle -A PREROUTING -i pod-a1 -j MARK --set-xmark 0x1/0xff',
  '-t filter -I FORWARD -m mark --mark 0x1/0xff -m conntrack --ctstate NEW -m statistic --mode nth --every 2 --packet 0 -p tcp --dport 8080 -d 10.244.2.12 -j REJECT',
  '-t mangle -A POSTROUTING -p udp -d 10.244.2.12 --dport 8080 -j MARK --and-mark 0xffffbfff',
  '-t raw -A PREROUTING -d 10.96.77.11/32 -p udp -j DROP',
  '-t nat -I PREROUTING -d 10.96.77.12 -p tcp ! -i pod+ -j ACCEPT',
  '-t filter -I OUTPUT -d 10.96.0.0/12 -p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN -m conntrack --ctorigdst 10.96.77.13 -j REJECT',
]);
