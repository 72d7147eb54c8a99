// Services of every kind that nobody asks. While they exist no set is empty, so the rules stay as they are and are not written
// again for each recorded cluster: starting iptables takes long in an emulated machine.
import type { Manifest } from '../../support/golden.ts';

export const ANCHORS: readonly Manifest[] = (['Cluster', 'Local'] as const).flatMap((policy, i) =>
  (['TCP', 'UDP'] as const).flatMap((protocol, j) =>
    anchor(`${policy}-${protocol}`.toLowerCase(), policy, protocol, 2 * i + j + 1),
  ),
);

function anchor(name: string, policy: string, protocol: string, number: number): readonly Manifest[] {
  return (['IPv4', 'IPv6'] as const).flatMap((family, k): Manifest[] => {
    const ip = (net: number): string =>
      family === 'IPv4' ? `10.111.${net}.${number}` : `fd00:10:96::${net}:${number}`;
    const serviceName = `anchor-${name}-${family.toLowerCase()}`;
    return [
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { namespace: 'anchors', name: serviceName },
        spec: {
          type: 'LoadBalancer',
          clusterIP: ip(1),
          clusterIPs: [ip(1)],
          ipFamilies: [family],
          externalIPs: [ip(2)],
          externalTrafficPolicy: policy,
          healthCheckNodePort: policy === 'Local' ? 31900 + 2 * number + k : undefined,
          loadBalancerSourceRanges: [family === 'IPv4' ? '192.168.50.1/32' : 'fd00:50::1/128'],
          ports: [{ name: 'p', port: 9999, protocol, nodePort: 31800 + 2 * number + k }],
        },
        status: { loadBalancer: { ingress: [{ ip: ip(3), ipMode: 'VIP' }] } },
      },
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { namespace: 'anchors', name: serviceName, labels: { 'kubernetes.io/service-name': serviceName } },
        addressType: family,
        ports: [{ name: 'p', port: 9999, protocol }],
        endpoints: [{ addresses: [ip(4)], conditions: { ready: true }, nodeName: 'n1' }],
      },
    ];
  });
}
