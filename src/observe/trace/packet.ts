// The first packet of a connection, the host it meets, and what can become of it. Plain data: walk.ts leads from one to the other.
import type { Fraction } from './fraction.ts';
import type { Chain, Hook, Rule, Statement } from './ruleset.ts';

export interface Packet {
  readonly src: string;
  readonly dst: string;
  /** `tcp`, `udp`, `sctp` */
  readonly protocol: string;
  /** Undefined: whatever the client's system chose. */
  readonly srcPort: number | undefined;
  readonly dstPort: number;
  /** The device it comes in by; undefined: not known. */
  readonly device: string | undefined;
  /** True if a process of this host sends it, so that it comes in by no device. */
  readonly isFromThisHost: boolean;
  readonly mark: number;
  /** As conntrack calls it: `NEW`, `ESTABLISHED`, … */
  readonly state: string;
}

/** What must be known of the host besides its rules. */
export interface Surroundings {
  readonly isOwnAddress: (ip: string) => boolean;
  /** The source address of masqueraded packets. */
  readonly address: string;
  /** The device that leads to an address, where it is known. */
  readonly deviceTo?: (ip: string) => string | undefined;
  /** Whether packets of a device come through a bridge that lets iptables see them, where it is known; absent: none does. */
  readonly isBridged?: (device: string | undefined) => boolean | undefined;
  /** Whether a list of recent clients has this one, where it is known. */
  readonly isRemembered?: (list: string, ip: string) => boolean | undefined;
}

export interface Outcome {
  /** How often, of the packets for which the conditions hold. */
  readonly share: Fraction;
  /** What it takes besides: answers that the rules and the packet do not give. */
  readonly conditions: readonly Condition[];
  readonly end: End;
  /** As the receiver sees it, or as it was when it ended. */
  readonly src: string;
  readonly dst: string;
  readonly dstPort: number;
  /** True if the source is an address of this host, put in by a rule. */
  readonly isMasqueraded: boolean;
  /** True if the source is one of this host's, by a rule or because it comes from here. */
  readonly isSeenAsNode: boolean;
  readonly isRedirected: boolean;
  readonly hops: readonly Hop[];
}

export type End =
  | { readonly kind: 'delivered' } // to a process of this host
  | { readonly kind: 'forwarded' } // to another
  | { readonly kind: 'dropped' }
  | { readonly kind: 'rejected'; readonly with: string }
  | { readonly kind: 'unjudged'; readonly reason: string };

export type Condition =
  | { readonly kind: 'remembered'; readonly list: string; readonly holds: boolean }
  | { readonly kind: 'unjudged'; readonly text: string; readonly rule: string; readonly holds: boolean }
  /** Somebody decides by more than turns; shares are those of many clients. */
  | { readonly kind: 'chosen'; readonly by: string; readonly holds: true };

/** A rule that the packet matched, or the policy of a base chain where none decided. */
export interface Hop {
  readonly hook: Hook;
  readonly chain: Chain;
  readonly rule: Rule | undefined;
  readonly did: Statement;
  /** Where the rule matches only some packets: which share of those that come by. */
  readonly chance?: Fraction;
  readonly condition?: Condition;
  /** The element of a map that said what to do. */
  readonly row?: string;
  /** Where it was first sent: rules that serve all services alike say nothing of it. */
  readonly packet?: { readonly originalDst: string; readonly originalDstPort: number; readonly protocol: string };
}
