// The walker's words and those of recorded probes: from who asks to a packet, from outcomes to who is answered.

import { parseTarget } from '../../src/lab/network/probe.ts';
import { type Family, familyOf } from '../../src/lib/ip.ts';
import type { Outcome, Packet, Surroundings } from '../../src/observe/trace/packet.ts';
import type { Expected } from './golden.ts';

/** The addresses of the golden network, by who owns them. */
const ADDRESSES: Readonly<Record<string, Readonly<Record<Family, string>>>> = {
  a1: pod(1, 11),
  a2: pod(1, 12),
  b1: pod(2, 11),
  b2: pod(2, 12),
  n1: { IPv4: '192.168.50.1', IPv6: 'fd00:50::1' },
  n2: { IPv4: '192.168.50.2', IPv6: 'fd00:50::2' },
  x: { IPv4: '192.168.50.100', IPv6: 'fd00:50::100' },
};

const OWN = new Set(['192.168.50.1', '10.60.0.1', 'fd00:50::1', '169.254.1.1']);

function pod(node: number, number: number): Record<Family, string> {
  return { IPv4: `10.244.${node}.${number}`, IPv6: `fd00:10:244:${node}::${number}` };
}

export function goldenHost(family: Family): Surroundings {
  return { isOwnAddress: (ip) => OWN.has(ip), address: ADDRESSES.n1![family] };
}

/** For rules that are written by hand: a router, and a packet that comes to it. */
export const ROUTER: Surroundings = { isOwnAddress: (ip) => ip === '192.0.2.1', address: '192.0.2.1' };
export const PASSING: Packet = {
  src: '10.0.0.1',
  dst: '10.0.0.2',
  protocol: 'tcp',
  srcPort: undefined,
  dstPort: 80,
  device: 'eth0',
  isFromThisHost: false,
  mark: 0,
  state: 'NEW',
};

export interface ProbeLike {
  readonly from: string;
  readonly proto: 'tcp' | 'udp';
  readonly to: string;
  readonly bind?: string;
}

export function packetOf({ from, proto, to, bind }: ProbeLike): Packet {
  const { ip, port } = parseTarget(to);
  const isFromThisHost = from === 'n1';
  const isToThisHost = OWN.has(ip) || ip === '127.0.0.1';
  return {
    src: bind ?? (isFromThisHost && isToThisHost ? ip : ADDRESSES[from]![familyOf(ip)]),
    dst: ip,
    protocol: proto,
    srcPort: undefined,
    dstPort: port,
    device: deviceFrom(from),
    isFromThisHost,
    mark: 0,
    state: 'NEW',
  };
}

function deviceFrom(name: string): string {
  return name.startsWith('a') ? `pod-${name}` : name === 'x' ? 'ext0' : 'eth0';
}

/** What a probe would say if these are all the ways there are. Clients that a service remembers count like new ones. */
export function predicted(outcomes: readonly Outcome[]): Pick<Expected, 'answered' | 'failed'> {
  const answered: Record<string, Set<string>> = {};
  const failed = new Set<string>();
  for (const outcome of outcomes) {
    const owner = Object.keys(ADDRESSES).find((name) => Object.values(ADDRESSES[name]!).includes(outcome.dst));
    const isFromItself = owner !== undefined && Object.values(ADDRESSES[owner]!).includes(outcome.src);
    // Nobody believes a packet that says it comes from oneself.
    const failure = failureOf(outcome, owner) ?? (isFromItself && owner !== 'n1' ? 'timeout' : undefined);
    if (failure !== undefined) failed.add(failure);
    else {
      answered[`${owner}:${outcome.dstPort}`] ??= new Set();
      answered[`${owner}:${outcome.dstPort}`]!.add(outcome.isMasqueraded || OWN.has(outcome.src) ? 'node' : 'client');
    }
  }
  const sorted = Object.entries(answered).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    ...(sorted.length > 0 && { answered: Object.fromEntries(sorted.map(([pod, seen]) => [pod, [...seen].sort()])) }),
    ...(failed.size > 0 && { failed: [...failed].sort() }),
  };
}

function failureOf({ end }: Outcome, owner: string | undefined): string | undefined {
  switch (end.kind) {
    case 'dropped':
      return 'timeout';
    case 'rejected':
      return end.with === 'tcp-reset' ? 'refused' : 'icmp-unreachable';
    case 'delivered':
      return 'refused'; // nothing listens on the node itself
    case 'forwarded':
      return owner === undefined ? 'timeout' : undefined; // what has no owner goes to the client outside, which drops it
    case 'unjudged':
      return `unjudged: ${end.reason}`;
  }
}
