// The network that packet tests ask: one node whose proxy is judged, its pods, another node without a proxy, a client
// outside.
//
//    a1 10.244.1.11 ──┐ pod-a1             eth0 ┌── n2 192.168.50.2 ──┬── b1 10.244.2.11
//                     ├──── n1 192.168.50.1 ────┤                     └── b2 10.244.2.12
//    a2 10.244.1.12 ──┘ pod-a2             ext0 └── x 192.168.50.100  any of 172.20.0.0/24
//
// Every packet passes n1, even those between b1 and b2, and what n1 has no route for goes to x, which drops it.
import { FORWARDING, type Pod, podLink, ROUTER } from './cluster.ts';
import type { Host, Link, Topology } from './topology.ts';

export const POD_PORTS: readonly number[] = [80, 2379, 5353, 8080, 8443, 9090];

// On n2 the way to a pod is known only to packets from n1 and to n2's own; those from other pods go to n1 first.
const PODS_OF_N2 = 100;

export const golden: Topology = {
  hosts: [
    { name: 'n1', isProxied: true, sysctls: FORWARDING },
    {
      name: 'n2',
      sysctls: FORWARDING,
      rules: [`iif eth0 lookup ${PODS_OF_N2}`, `iif lo lookup ${PODS_OF_N2}`],
    },
    ...['a1', 'a2', 'b1', 'b2'].map((name): Host => ({ name, serves: POD_PORTS })),
    { name: 'x' },
  ],
  links: [
    [
      {
        host: 'n1',
        device: 'eth0',
        addresses: ['192.168.50.1/24', '10.60.0.1/32', 'fd00:50::1/128', ROUTER],
        routes: ['10.244.2.0/24 via 192.168.50.2', 'fd00:50::2/128', 'fd00:10:244:2::/64 via fe80::2'],
      },
      {
        host: 'n2',
        device: 'eth0',
        addresses: ['192.168.50.2/32', 'fd00:50::2/128', 'fe80::2/64'],
        routes: ['192.168.50.1/32', 'default via 192.168.50.1', 'default via fe80::1'],
      },
    ],
    [
      {
        host: 'n1',
        device: 'ext0',
        addresses: [ROUTER],
        routes: ['192.168.50.100/32', 'default via 192.168.50.100', 'fd00:50::100/128', 'default via fd00:50::100'],
      },
      {
        host: 'x',
        device: 'eth0',
        addresses: ['192.168.50.100/32', 'fd00:50::100/128'],
        routes: ['192.168.50.1/32', 'default via 192.168.50.1', 'default via fe80::1', 'local 172.20.0.0/24 dev lo'],
      },
    ],
    ...['a1', 'a2'].map((name): Link => podLink(pod(name, 1), 'n1', '192.168.50.1')),
    ...['b1', 'b2'].map((name): Link => podLink(pod(name, 2), 'n2', '192.168.50.2', PODS_OF_N2)),
  ],
};

/** `b2` and node 2 make 10.244.2.12. */
function pod(name: string, node: number): Pod {
  const number = `1${name.slice(1)}`;
  return { name, ips: [`10.244.${node}.${number}`, `fd00:10:244:${node}::${number}`] };
}
