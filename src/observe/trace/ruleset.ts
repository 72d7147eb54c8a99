// Rules as data, in one form for whatever tool wrote them: tables hold chains, chains hold rules, a rule is what it asks of a
// packet and what it then does. iptables-save.ts and nft-list.ts make it of the tools' texts; the walker knows nothing else.
import type { Family } from '../../lib/ip.ts';
import type { Fraction } from './fraction.ts';

export interface Ruleset {
  readonly family: Family;
  /** In the order in which the kernel asks tables that have the same priority. */
  readonly tables: readonly Table[];
}

export interface Table {
  readonly name: string;
  /** The interface of the kernel that it was loaded by: both kinds of iptables can be at work in one host. */
  readonly origin: TableOrigin;
  readonly chains: ReadonlyMap<string, Chain>;
  readonly sets: ReadonlyMap<string, ElementSet>;
}

export type TableOrigin = 'iptables' | 'iptables-legacy' | 'iptables-nft' | 'nftables';

export interface Chain {
  readonly table: string;
  readonly origin: TableOrigin;
  readonly name: string;
  /** Present in base chains, the ones packets enter by. */
  readonly base?: BaseChain;
  readonly rules: readonly Rule[];
}

export interface BaseChain {
  readonly hook: Hook;
  /** Lower ones are asked first. */
  readonly priority: number;
  /** Nat chains are asked once for a connection. */
  readonly type: 'filter' | 'nat';
  readonly policy: 'accept' | 'drop';
}

export type Hook = 'prerouting' | 'input' | 'forward' | 'output' | 'postrouting';

export interface Rule {
  /** As its tool prints it. */
  readonly text: string;
  /** All must hold. */
  readonly matches: readonly Match[];
  /** Done in this order. */
  readonly statements: readonly Statement[];
}

/** `not`: the match holds where what it says does not. */
export type Match = { readonly not: boolean } & MatchKind;

export type MatchKind =
  | { readonly kind: 'network'; readonly field: 'src' | 'dst'; readonly cidr: string }
  | { readonly kind: 'range'; readonly field: 'src' | 'dst'; readonly from: string; readonly to: string }
  | { readonly kind: 'interface'; readonly direction: 'in' | 'out'; readonly name: string; readonly isPrefix: boolean }
  | { readonly kind: 'protocol'; readonly protocol: string }
  | { readonly kind: 'ports'; readonly field: 'src' | 'dst' | 'either'; readonly ranges: readonly PortRange[] }
  | { readonly kind: 'state'; readonly states: readonly string[] }
  | { readonly kind: 'mark'; readonly value: number; readonly mask: number }
  | { readonly kind: 'address-type'; readonly field: 'src' | 'dst'; readonly type: string }
  | { readonly kind: 'original-destination'; readonly cidr?: string; readonly ports?: PortRange }
  | { readonly kind: 'tcp-flags'; readonly among: readonly string[]; readonly set: readonly string[] }
  | { readonly kind: 'chance'; readonly probability: Fraction }
  | { readonly kind: 'remembered'; readonly list: string; readonly seconds: number | undefined }
  | { readonly kind: 'remember'; readonly list: string }
  /** `set`: the name of one of the table's, or the set itself. */
  | { readonly kind: 'element'; readonly key: readonly KeyPart[]; readonly set: string | ElementSet }
  | { readonly kind: 'unknown'; readonly text: string };

/** Both ends included. */
export type PortRange = readonly [number, number];

export type Statement =
  | { readonly kind: 'accept' | 'drop' | 'return' }
  | { readonly kind: 'reject'; readonly with: string }
  | { readonly kind: 'jump' | 'goto'; readonly chain: string }
  | { readonly kind: 'dnat'; readonly ip: string | undefined; readonly port: number | undefined }
  | { readonly kind: 'snat'; readonly ip: string | undefined }
  | { readonly kind: 'masquerade' }
  | { readonly kind: 'redirect'; readonly port: number | undefined }
  /** mark = (mark & keep) ^ flip */
  | { readonly kind: 'mark'; readonly keep: number; readonly flip: number }
  | { readonly kind: 'connection-mark'; readonly keep: number; readonly flip: number }
  | { readonly kind: 'save-mark' | 'restore-mark' | 'untrack' }
  /** The verdict is looked up; where there is none, the next rule is asked. */
  | { readonly kind: 'verdict-map'; readonly key: readonly KeyPart[]; readonly map: string | ElementSet }
  /** The new destination is looked up, and with it the port unless that is given. */
  | {
      readonly kind: 'dnat-map';
      readonly key: readonly KeyPart[];
      readonly map: string | ElementSet;
      readonly port: number | undefined;
    }
  /** Adds the packet's key to a set or map, for later ones. */
  | { readonly kind: 'remember-in'; readonly set: string }
  /** Leaves the packet and its way as they are: a log line, a counter. */
  | { readonly kind: 'note'; readonly name: string }
  | { readonly kind: 'unknown'; readonly text: string };

/** A part of a looked-up key: a field of the packet, or a number drawn for it. */
export type KeyPart =
  | { readonly kind: 'field'; readonly field: KeyField }
  | { readonly kind: 'draw'; readonly count: number; readonly offset: number };

export type KeyField =
  | 'src'
  | 'dst'
  | 'protocol'
  | 'src-port'
  | 'dst-port'
  | 'mark'
  | 'original-dst'
  | 'original-dst-port';

/** Elements by their text, parts joined with ` . `; in maps with the value's text, else with ''. */
export interface ElementSet {
  readonly name: string;
  readonly elements: ReadonlyMap<string, string>;
  /** How many packets each element was found by, where that is counted. */
  readonly packets: ReadonlyMap<string, number>;
  /** Elements that stand for many addresses: networks, or ranges with `-`. */
  readonly ranges: readonly { readonly text: string; readonly value: string }[];
  /** Rules add elements as packets pass, so who is in it depends on what came before. */
  readonly isDynamic: boolean;
}
