// Rules as data. Each is a list of clauses, in the order in which nft writes them. print.ts turns a clause into nft's text and
// expressions.ts into what the kernel runs; one is the other's check, since nft lists what we send.
import type { NftChain, NftVerdict } from '../../kernel/nftables-objects.ts';
import type { LocalDetector } from '../local-detector.ts';

export type Transport = 'tcp' | 'udp' | 'sctp';

/** What a packet is looked up by. `original-*`: as it was before its destination was translated. */
export type Field = 'saddr' | 'daddr' | 'l4proto' | 'dport' | 'original-daddr' | 'original-dport';

export type Clause =
  | { readonly kind: 'is-new' }
  | { readonly kind: 'is-translated' }
  | { readonly kind: 'has-ports' } // TCP, UDP or SCTP
  | { readonly kind: 'in-set'; readonly field: Field | readonly Field[]; readonly set: string }
  | {
      readonly kind: 'in-networks';
      readonly field: 'saddr' | 'daddr';
      /** Addresses and networks, none of them of length 0. */
      readonly networks: readonly string[];
      readonly isNegated: boolean;
    }
  | { readonly kind: 'from-interface'; readonly name: string; readonly isPrefix: boolean; readonly isNegated: boolean }
  | { readonly kind: 'from-node' }
  | { readonly kind: 'to-node' }
  | { readonly kind: 'has-mark'; readonly mark: number }
  | { readonly kind: 'set-mark'; readonly mark: number }
  | { readonly kind: 'toggle-mark'; readonly mark: number }
  | { readonly kind: 'verdict-of'; readonly fields: readonly Field[]; readonly map: string }
  /** Translates to the row of `map` at the packet's own fields and a random index below `count`. */
  | {
      readonly kind: 'pick';
      readonly transport: Transport;
      readonly fields: readonly ('daddr' | 'dport')[];
      readonly count: number;
      readonly offset: number;
      readonly map: string;
    }
  /** Translates to the address that `map` holds for the client, if it holds one. */
  | { readonly kind: 'stick'; readonly transport: Transport; readonly map: string; readonly port: number }
  /** Notes in `map` which address the client was sent to, or makes the note last longer. */
  | { readonly kind: 'learn'; readonly map: string; readonly timeoutSeconds: number }
  | { readonly kind: 'verdict'; readonly verdict: NftVerdict }
  | { readonly kind: 'reject' }
  | { readonly kind: 'masquerade' };

export interface Rule {
  readonly clauses: readonly Clause[];
  readonly comment?: string;
}

export interface ChainPlan extends NftChain {
  readonly rules: readonly Rule[];
}

/** A line of a table: an element of a set or map. */
export interface Row {
  readonly set: string;
  readonly key: string;
  readonly value?: string;
  readonly comment?: string;
}

export function rule(...clauses: readonly Clause[]): Rule {
  return { clauses };
}

export function commented(comment: string, ...clauses: readonly Clause[]): Rule {
  return { clauses, comment };
}

export function goto(chain: string): Clause {
  return { kind: 'verdict', verdict: { kind: 'goto', chain } };
}

export function jump(chain: string): Clause {
  return { kind: 'verdict', verdict: { kind: 'jump', chain } };
}

export const drop: Clause = { kind: 'verdict', verdict: { kind: 'drop' } };

/** The clause that matches packets from pods on this node, or all others; undefined where that is not known. */
export function localSource(detector: LocalDetector, isNegated: boolean): Clause | undefined {
  switch (detector.kind) {
    case 'source':
      return { kind: 'in-networks', field: 'saddr', networks: withoutZero(detector.cidr), isNegated };
    case 'interface':
      return { kind: 'from-interface', name: detector.name, isPrefix: false, isNegated };
    case 'interface-prefix':
      return { kind: 'from-interface', name: detector.prefix, isPrefix: true, isNegated };
    case 'none':
      return undefined;
  }
}

/** nft has no way to say "any address"; two halves say it. */
function withoutZero(cidr: string): readonly string[] {
  if (!cidr.endsWith('/0')) return [cidr];
  return cidr.includes(':') ? ['::/1', '8000::/1'] : ['0.0.0.0/1', '128.0.0.0/1'];
}
