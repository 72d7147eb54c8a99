// The IP sets of IPVS mode: names, types and what rules say of them. Scripts and people know these from upstream.
import type { IpSet, SetType } from '../../kernel/ipset-codec.ts';
import type { Family } from '../../lib/ip.ts';

// In the order in which entries are added: who may use an address is known before the address is guarded.
const TYPES = {
  'LOOP-BACK': 'hash:ip,port,ip',
  'LOAD-BALANCER-SOURCE-CIDR': 'hash:ip,port,net',
  'LOAD-BALANCER-SOURCE-IP': 'hash:ip,port,ip',
  'LOAD-BALANCER-FW': 'hash:ip,port',
  'LOAD-BALANCER-LOCAL': 'hash:ip,port',
  'LOAD-BALANCER': 'hash:ip,port',
  'EXTERNAL-IP-LOCAL': 'hash:ip,port',
  'EXTERNAL-IP': 'hash:ip,port',
  'CLUSTER-IP': 'hash:ip,port',
  'NODE-PORT-LOCAL-TCP': 'bitmap:port',
  'NODE-PORT-TCP': 'bitmap:port',
  'NODE-PORT-LOCAL-UDP': 'bitmap:port',
  'NODE-PORT-UDP': 'bitmap:port',
  'NODE-PORT-LOCAL-SCTP-HASH': 'hash:ip,port',
  'NODE-PORT-SCTP-HASH': 'hash:ip,port',
  'HEALTH-CHECK-NODE-PORT': 'bitmap:port',
  'IPVS-IPS': 'hash:ip',
} as const satisfies Record<string, SetType>;

export type SetName = keyof typeof TYPES;

export const SET_NAMES = Object.keys(TYPES) as readonly SetName[];

const MAX_NAME_LENGTH = 31; // IPSET_MAXNAMELEN without its NUL

/** `KUBE-CLUSTER-IP`, `KUBE-6-CLUSTER-IP` */
export function kernelName(name: SetName, family: Family): string {
  return `KUBE-${family === 'IPv6' ? '6-' : ''}${name}`.slice(0, MAX_NAME_LENGTH);
}

export function kernelSet(name: SetName, family: Family): IpSet {
  return SETS[family].get(name)!;
}

/** Every set of one family, in the order of SET_NAMES. */
export function kernelSets(family: Family): readonly IpSet[] {
  return [...SETS[family].values()];
}

const SETS: Readonly<Record<Family, ReadonlyMap<SetName, IpSet>>> = { IPv4: setsOf('IPv4'), IPv6: setsOf('IPv6') };

function setsOf(family: Family): ReadonlyMap<SetName, IpSet> {
  return new Map(SET_NAMES.map((name) => [name, { name: kernelName(name, family), type: TYPES[name], family }]));
}

/** What upstream's rules say of a set. */
export const SET_COMMENTS: Readonly<Record<SetName, string>> = {
  'LOOP-BACK': 'Kubernetes endpoints dst ip:port, source ip for solving hairpin purpose',
  'CLUSTER-IP': 'Kubernetes service cluster ip + port for masquerade purpose',
  'EXTERNAL-IP': 'Kubernetes service external ip + port for masquerade and filter purpose',
  'EXTERNAL-IP-LOCAL': 'Kubernetes service external ip + port with externalTrafficPolicy=local',
  'LOAD-BALANCER': 'Kubernetes service lb portal',
  'LOAD-BALANCER-FW': 'Kubernetes service load balancer ip + port for load balancer with sourceRange',
  'LOAD-BALANCER-LOCAL': 'Kubernetes service load balancer ip + port with externalTrafficPolicy=local',
  'LOAD-BALANCER-SOURCE-IP': 'Kubernetes service load balancer ip + port + source IP for packet filter purpose',
  'LOAD-BALANCER-SOURCE-CIDR': 'Kubernetes service load balancer ip + port + source cidr for packet filter purpose',
  'NODE-PORT-TCP': 'Kubernetes nodeport TCP port for masquerade purpose',
  'NODE-PORT-LOCAL-TCP': 'Kubernetes nodeport TCP port with externalTrafficPolicy=local',
  'NODE-PORT-UDP': 'Kubernetes nodeport UDP port for masquerade purpose',
  'NODE-PORT-LOCAL-UDP': 'Kubernetes nodeport UDP port with externalTrafficPolicy=local',
  'NODE-PORT-SCTP-HASH': "Kubernetes nodeport SCTP port for masquerade purpose with type 'hash ip:port'",
  'NODE-PORT-LOCAL-SCTP-HASH':
    "Kubernetes nodeport SCTP port with externalTrafficPolicy=local with type 'hash ip:port'",
  'HEALTH-CHECK-NODE-PORT': 'Kubernetes health check node port',
  'IPVS-IPS': 'Addresses on the ipvs interface',
};

/** Entries in the order in which they are safe to add; the reverse is safe to delete them in. */
export function inSafeOrder<E extends { readonly set: SetName }>(entries: readonly E[]): E[] {
  const rank = new Map(SET_NAMES.map((name, i) => [name, i]));
  return [...entries].sort((a, b) => rank.get(a.set)! - rank.get(b.set)!);
}
