// What iptables mode must know of the machine and of its configuration, in one family: plain data, probed outside.
import type { Family } from '../../lib/ip.ts';
import type { LocalDetector } from '../local-detector.ts';

export interface IptablesFacts {
  readonly family: Family;
  readonly masqueradeMark: number;
  readonly masqueradeAll: boolean;
  /** Node ports answer on 127.0.0.1 too: wanted, IPv4, and covered by the node-port addresses. */
  readonly localhostNodePorts: boolean;
  readonly nodePortAddresses: NodePortAddresses;
  readonly detector: LocalDetector;
  /** iptables 1.6.2 and later: MASQUERADE --random-fully. */
  readonly hasRandomFully: boolean;
  /** nf_conntrack_tcp_be_liberal is set, so packets out of window are no reason to drop. */
  readonly conntrackIsLiberal: boolean;
  /** How many services a full write takes at a time; undefined: all at once. iptables-nft takes time that grows with the square
   *  of the chains in its input, legacy iptables takes time for every call. */
  readonly servicesPerBatch: number | undefined;
  /** nfacct counters that exist on this host. */
  readonly counters: { readonly invalidDropped: boolean; readonly localhostNodePorts: boolean };
}

export type NodePortAddresses = { readonly kind: 'all' } | { readonly kind: 'some'; readonly ips: readonly string[] };

export const INVALID_DROPPED_COUNTER = 'ct_state_invalid_dropped_pkts';
export const LOCALHOST_NODE_PORTS_COUNTER = 'localhost_nps_accepted_pkts';
