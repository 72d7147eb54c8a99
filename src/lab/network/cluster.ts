// The network of a cluster of any size, for the lab: nodes and an outside client around one router, pods that come and go.
// In: names and addresses. Out: a Topology, to open a network with or to add to one.
//
//    pod 10.244.1.11 ── n1 192.168.50.1 ──┐
//    pod 10.244.2.11 ── n2 192.168.50.2 ──┼── lan ── x 192.168.50.100
//                       n3 192.168.50.3 ──┘
//
// The router knows nodes, their pods and the client. Any other address that the client asks for, such as a load balancer's,
// it takes to the entry node; a node's packets to unknown addresses end there, as no Service address may leave a node
// unchanged.
import { familyOf, hostCidr } from '../../lib/ip.ts';
import type { Host, Link, Topology } from './topology.ts';

// A neighbour is asked for an IPv6 address on the interface that has it, unlike IPv4, so each router has this one on
// every interface.
export const ROUTER = 'fe80::1/64';
const BEHIND_ROUTER = 'fe80::2/64';

export const FORWARDING = { 'ipv4/ip_forward': '1', 'ipv6/conf/all/forwarding': '1' } as const;

/** The router's name. */
export const LAN = 'lan';
const FROM_CLIENT = 100;

export interface Pod {
  readonly name: string;
  /** One address of a family or of each. */
  readonly ips: readonly string[];
  readonly serves?: readonly number[];
  /** The node's end of its cable, 15 letters at most; `pod-NAME` if absent. */
  readonly device?: string;
}

export interface Node {
  readonly name: string;
  /** One address of a family or of each. */
  readonly ips: readonly string[];
  readonly podCIDRs: readonly string[];
}

export interface Cluster {
  readonly nodes: readonly Node[];
  readonly client: { readonly name: string; readonly ips: readonly string[] };
  /** The router's IPv4 address on every cable. */
  readonly router: string;
  /** The node to which the client's packets to unknown addresses go. */
  readonly entry: string;
}

/** The nodes, the router and the client. */
export function clusterOf(cluster: Cluster): Topology {
  const { nodes, client } = cluster;
  // After all routes: the client has one more, and everybody else none, without a word to the sender.
  const lastRules = [`pref 40000 iif ${client.name} lookup ${FROM_CLIENT}`, 'pref 40001 blackhole'];
  return {
    hosts: [
      ...nodes.map(({ name }): Host => ({ name, isProxied: true, sysctls: FORWARDING })),
      { name: LAN, sysctls: FORWARDING, rules: lastRules },
      { name: client.name },
    ],
    links: [...nodes.map((node) => nodeLink(node, cluster)), clientLink(cluster)],
  };
}

/** A pod and its cable. */
export function podOn(node: Node, pod: Pod): Topology {
  const host: Host = { name: pod.name, ...(pod.serves && { serves: pod.serves }) };
  return { hosts: [host], links: [podLink(pod, node.name, ipv4Of(node.ips))] };
}

/** The cable between a pod and its node; `table` is where the node keeps the way to it, if not with its other routes. */
export function podLink(pod: Pod, node: string, nodeIp: string | undefined, table?: number): Link {
  const addresses = pod.ips.map(hostCidr);
  const inTable = table === undefined ? '' : ` table ${table}`;
  return [
    {
      host: node,
      device: pod.device ?? `pod-${pod.name}`,
      addresses: [ROUTER],
      routes: addresses.map((ip) => `${ip}${inTable}`),
    },
    { host: pod.name, device: 'eth0', addresses, routes: defaultRoutes(pod.ips, nodeIp) },
  ];
}

function nodeLink({ name, ips, podCIDRs }: Node, { router, entry }: Cluster): Link {
  const via = (address: string) => (familyOf(address) === 'IPv4' ? ipv4Of(ips) : 'fe80::2');
  const entryRoutes = ips.map((ip) => `default via ${via(ip)} table ${FROM_CLIENT}`);
  return [
    {
      host: LAN,
      device: name,
      addresses: [hostCidr(router), ROUTER],
      routes: [
        ...ips.map((ip) => (familyOf(ip) === 'IPv4' ? hostCidr(ip) : `${hostCidr(ip)} via fe80::2`)),
        ...podCIDRs.map((cidr) => `${cidr} via ${via(cidr)}`),
        ...(name === entry ? entryRoutes : []),
      ],
    },
    {
      host: name,
      device: 'eth0',
      addresses: [...ips.map(hostCidr), BEHIND_ROUTER],
      routes: defaultRoutes(ips, router),
    },
  ];
}

function clientLink({ client: { name, ips }, router }: Cluster): Link {
  const addresses = ips.map(hostCidr);
  return [
    { host: LAN, device: name, addresses: [ROUTER], routes: addresses },
    { host: name, device: 'eth0', addresses, routes: defaultRoutes(ips, router) },
  ];
}

function defaultRoutes(ips: readonly string[], ipv4Router: string | undefined): string[] {
  return ips.map((ip) => (familyOf(ip) === 'IPv4' ? `default via ${ipv4Router} onlink` : 'default via fe80::1'));
}

function ipv4Of(ips: readonly string[]): string | undefined {
  return ips.find((ip) => familyOf(ip) === 'IPv4');
}
