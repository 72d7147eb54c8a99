// What nftables mode must know of the machine and of its configuration, in one family: plain data, probed outside.
import type { Family } from '../../lib/ip.ts';
import type { LocalDetector } from '../local-detector.ts';

export interface NftablesFacts {
  readonly family: Family;
  readonly masqueradeMark: number;
  readonly masqueradeAll: boolean;
  /** Addresses of this node that take node ports: all of them, or these. */
  readonly nodePortAddresses: { readonly kind: 'all' } | { readonly kind: 'some'; readonly ips: readonly string[] };
  /** Node ports answer on 127.0.0.1 too: IPv4, asked for, and net.ipv4.conf.all.route_localnet is set. */
  readonly localhostNodePorts: boolean;
  readonly detector: LocalDetector;
  /** Rows count the new connections that hit them. Linux 5.7 and later. */
  readonly hasCounters: boolean;
  /** A chain can go in the transaction that takes away the last row which leads to it. Linux 6.2 and later; before, one
   *  transaction later. */
  readonly releasesChainsAtOnce: boolean;
}
