// The network of a cluster of any size, for the lab: nodes and an outside client around one router, pods that come and go.
// In: names and numbers. Out: a Topology, to open a network with or to add to one.
//
//    pod 10.244.1.11 ── n1 192.168.50.1 ──┐
//    pod 10.244.2.11 ── n2 192.168.50.2 ──┼── lan ── x 192.168.50.100
//                       n3 192.168.50.3 ──┘
//
// The router knows nodes, their pods and x. Any other address that x asks for, such as a load balancer's, it takes to the
// first node; a node's packets to unknown addresses end there, as no Service address may leave a node unchanged.
import { hostCidr } from '../../lib/ip.ts';
import type { Host, Link, Topology } from './topology.ts';

// A neighbour is asked for an IPv6 address on the interface that has it, unlike IPv4, so each router has this one on
// every interface.
export const ROUTER = 'fe80::1/64';
const BEHIND_ROUTER = 'fe80::2/64';

export const FORWARDING = { 'ipv4/ip_forward': '1', 'ipv6/conf/all/forwarding': '1' } as const;

const LAN = 'lan';
const LAN_IP = '192.168.50.254';
const FROM_CLIENT = 100;
// After all routes: the client has one more, and everybody else none, without a word to the sender.
const LAST_RULES = [`pref 40000 iif x lookup ${FROM_CLIENT}`, 'pref 40001 blackhole'];

export interface Pod {
  readonly name: string;
  /** One address of a family or of each. */
  readonly ips: readonly string[];
  readonly serves?: readonly number[];
}

export interface Node {
  readonly name: string;
  /** From 1. */
  readonly number: number;
}

/** The nodes, the router and the client `x`; the first node is the client's way in. */
export function clusterOf(nodes: readonly Node[]): Topology {
  const [entry] = nodes;
  if (!entry) throw new Error('a cluster has at least one node');
  return {
    hosts: [
      ...nodes.map(({ name }): Host => ({ name, isProxied: true, sysctls: FORWARDING })),
      { name: LAN, sysctls: FORWARDING, rules: LAST_RULES },
      { name: 'x' },
    ],
    links: [...nodes.map((node) => nodeLink(node, node === entry)), clientLink()],
  };
}

/** A pod and its cable. */
export function podOn(node: Node, pod: Pod): Topology {
  const host: Host = { name: pod.name, ...(pod.serves && { serves: pod.serves }) };
  return { hosts: [host], links: [podLink(pod, node.name, nodeIpv4(node.number))] };
}

/** The cable between a pod and its node; `table` is where the node keeps the way to it, if not with its other routes. */
export function podLink(pod: Pod, node: string, nodeIp: string, table?: number): Link {
  const addresses = pod.ips.map(hostCidr);
  const inTable = table === undefined ? '' : ` table ${table}`;
  return [
    { host: node, device: `pod-${pod.name}`, addresses: [ROUTER], routes: addresses.map((ip) => `${ip}${inTable}`) },
    {
      host: pod.name,
      device: 'eth0',
      addresses,
      routes: [`default via ${nodeIp} onlink`, 'default via fe80::1'],
    },
  ];
}

export function nodeIpv4(number: number): string {
  return `192.168.50.${number}`;
}

export function nodeIpv6(number: number): string {
  return `fd00:50::${number.toString(16)}`;
}

function nodeLink({ name, number }: Node, isEntry: boolean): Link {
  const entryRoutes = [
    `default via ${nodeIpv4(number)} table ${FROM_CLIENT}`,
    `default via fe80::2 table ${FROM_CLIENT}`,
  ];
  return [
    {
      host: LAN,
      device: name,
      addresses: [hostCidr(LAN_IP), ROUTER],
      routes: [
        hostCidr(nodeIpv4(number)),
        `10.244.${number}.0/24 via ${nodeIpv4(number)}`,
        `${nodeIpv6(number)}/128 via fe80::2`,
        `fd00:10:244:${number.toString(16)}::/64 via fe80::2`,
        ...(isEntry ? entryRoutes : []),
      ],
    },
    {
      host: name,
      device: 'eth0',
      addresses: [hostCidr(nodeIpv4(number)), hostCidr(nodeIpv6(number)), BEHIND_ROUTER],
      routes: [`default via ${LAN_IP} onlink`, 'default via fe80::1'],
    },
  ];
}

function clientLink(): Link {
  return [
    {
      host: LAN,
      device: 'x',
      addresses: [ROUTER],
      routes: ['192.168.50.100/32', 'fd00:50::100/128'],
    },
    {
      host: 'x',
      device: 'eth0',
      addresses: ['192.168.50.100/32', 'fd00:50::100/128'],
      routes: [`default via ${LAN_IP} onlink`, 'default via fe80::1'],
    },
  ];
}
