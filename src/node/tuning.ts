// In: the configuration, the number of CPUs, the kernel's version.  Out: the kernel settings wanted, and for each what
// happens to traffic where it cannot be had. Nothing is read or written here; kernel/tuning.ts does that.
import type { ConntrackConfiguration, IpvsConfiguration } from '../config/configuration.ts';
import { type Duration, formatDuration, inWholeSeconds } from '../lib/duration.ts';
import { isAtLeast } from '../lib/version.ts';

export interface Tuning {
  /** Where the setting lives; if it has several names, the first that can be read is used. */
  readonly files: readonly string[];
  readonly value: number;
  /** A larger value is left alone. */
  readonly isMinimum?: boolean;
  /** A larger value is set to this one, but does no harm where that fails. */
  readonly toleratesLarger?: boolean;
  /** What happens where it is not set, as a sentence. */
  readonly consequence: string;
}

/** The table of connections never grows beyond this by itself, however many CPUs there are. */
const MAX_CONNECTIONS = 1_048_576;
const CONNECTIONS_PER_BUCKET = 4;

/** In the order in which they are applied: the table's size comes before its hash. */
export function conntrackTunings(conntrack: ConntrackConfiguration, cpus: number): readonly Tuning[] {
  return [
    ...sizeTunings(conntrack, cpus),
    ...timeoutTuning('nf_conntrack_tcp_timeout_established', conntrack.tcpEstablishedTimeout, 'idle TCP connections'),
    ...timeoutTuning(
      'nf_conntrack_tcp_timeout_close_wait',
      conntrack.tcpCloseWaitTimeout,
      'half-closed TCP connections',
    ),
    // Never set back to 0: others may have wanted it.
    ...(conntrack.tcpBeLiberal
      ? [netfilter('nf_conntrack_tcp_be_liberal', 1, 'TCP packets outside the window are taken for invalid ones')]
      : []),
    ...timeoutTuning('nf_conntrack_udp_timeout', conntrack.udpTimeout, 'UDP flows without an answer'),
    ...timeoutTuning('nf_conntrack_udp_timeout_stream', conntrack.udpStreamTimeout, 'UDP flows with answers'),
  ];
}

/** What iptables mode needs for node ports on 127.0.0.1 (`takesLocalhostNodePorts` says whether it takes them). */
export function iptablesTunings(takesLocalhostNodePorts: boolean): readonly Tuning[] {
  if (!takesLocalhostNodePorts) return [];
  return [ipv4('conf/all/route_localnet', 1, 'node ports on 127.0.0.1 will not answer')];
}

export function ipvsTunings(ipvs: Pick<IpvsConfiguration, 'strictARP'>, kernelVersion: string): readonly Tuning[] {
  const strictArp = [
    ipv4('conf/all/arp_ignore', 1, 'this node may answer ARP for service addresses that other nodes announce'),
    ipv4('conf/all/arp_announce', 2, 'this node may give service addresses as its own in ARP requests'),
  ];
  return [
    ipv4('vs/conntrack', 1, 'replies of services are not masqueraded, so clients that need it get no answer'),
    // From 5.9 on the kernel reuses a connection's port without the delay that this switches off.
    ...(isAtLeast(kernelVersion, '4.1') && !isAtLeast(kernelVersion, '5.9')
      ? [ipv4('vs/conn_reuse_mode', 0, 'connections that reuse a source port wait a second')]
      : []),
    ipv4('vs/expire_nodest_conn', 1, 'connections to endpoints that are gone hang instead of being ended'),
    ipv4('vs/expire_quiescent_template', 1, 'clients with session affinity stick to endpoints that are gone'),
    ipv4('ip_forward', 1, 'traffic to endpoints on other nodes is not forwarded'),
    ...(ipvs.strictARP ? strictArp : []),
  ];
}

/** How many connections the table should hold; undefined: as many as it does. */
export function wantedConnections({ maxPerCore, min }: ConntrackConfiguration, cpus: number): number | undefined {
  if (maxPerCore <= 0) return undefined;
  const scaled = maxPerCore * cpus;
  return scaled > MAX_CONNECTIONS ? MAX_CONNECTIONS : Math.max(scaled, min);
}

function sizeTunings(conntrack: ConntrackConfiguration, cpus: number): readonly Tuning[] {
  const connections = wantedConnections(conntrack, cpus);
  if (connections === undefined) return [];
  return [
    {
      files: ['/proc/sys/net/netfilter/nf_conntrack_max'],
      value: connections,
      toleratesLarger: true,
      consequence: 'the node tracks no more connections than its present limit, and drops new ones beyond it',
    },
    {
      // The second name is the same number, and readable by all.
      files: ['/sys/module/nf_conntrack/parameters/hashsize', '/proc/sys/net/netfilter/nf_conntrack_buckets'],
      value: Math.floor(connections / CONNECTIONS_PER_BUCKET),
      isMinimum: true,
      consequence: 'every packet takes longer to match with its connection when the table fills up',
    },
  ];
}

function timeoutTuning(name: string, duration: Duration, flows: string): readonly Tuning[] {
  if (duration <= 0n) return [];
  const consequence = `${flows} are forgotten at the kernel's own time, not after ${formatDuration(duration)}`;
  return [netfilter(name, inWholeSeconds(duration), consequence)];
}

function netfilter(name: string, value: number, consequence: string): Tuning {
  return { files: [`/proc/sys/net/netfilter/${name}`], value, consequence };
}

function ipv4(name: string, value: number, consequence: string): Tuning {
  return { files: [`/proc/sys/net/ipv4/${name}`], value, consequence };
}
