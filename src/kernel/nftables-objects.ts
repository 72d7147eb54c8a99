// nf_tables in plain data: what a table can hold, and the operations on it. Keys and values of set elements are written as
// nft writes them (`10.96.0.10 . udp . 53`, `goto reject-chain`), so that a plan, its print and the kernel's list compare as text.
import type { Family } from '../lib/ip.ts';

export interface NftTable {
  readonly family: Family;
  readonly name: string;
}

export type NftVerdict =
  | { readonly kind: 'drop' | 'accept' | 'return' }
  | { readonly kind: 'jump' | 'goto'; readonly chain: string };

export type NftHook = 'prerouting' | 'input' | 'forward' | 'output' | 'postrouting';

export interface NftChain {
  readonly name: string;
  /** Present in base chains, the ones packets enter by. */
  readonly base?: NftBase;
  readonly comment?: string;
}

export interface NftBase {
  readonly type: 'filter' | 'nat';
  readonly hook: NftHook;
  readonly priority: number;
}

/** The types of set keys and values, with nft's names. */
export type NftType = 'ipv4_addr' | 'ipv6_addr' | 'inet_proto' | 'inet_service' | 'mark' | 'integer';

/** Expressions that nft can take a type from. It knows no name for the type of `numgen`, so keys that hold one need this. */
export type NftTypeof = 'ip daddr' | 'ip6 daddr' | 'tcp dport' | 'udp dport' | 'sctp dport' | 'numgen random mod 65536';

export interface NftSet {
  readonly name: string;
  readonly key: readonly NftType[];
  /** Present in maps. */
  readonly value?: readonly NftType[] | 'verdict';
  /** Has nft print `typeof` instead of `type`; one expression for each type. */
  readonly typeof?: { readonly key: readonly NftTypeof[]; readonly value?: readonly NftTypeof[] };
  /** Keys are networks or ranges of addresses. */
  readonly isInterval?: boolean;
  /** Rules add elements. */
  readonly isDynamic?: boolean;
  readonly hasTimeout?: boolean;
  readonly timeoutSeconds?: number;
  readonly maxElements?: number;
  /** Every element counts the packets that hit it. */
  readonly hasCounters?: boolean;
  readonly comment?: string;
}

/** A set that lives and dies with the one rule that uses it. */
export interface NftAnonymousSet {
  readonly key: NftType;
  readonly isInterval?: boolean;
  readonly elements: readonly string[];
}

export interface NftElement {
  readonly key: string;
  readonly value?: string;
  readonly comment?: string;
  readonly timeoutSeconds?: number;
}

/** An element as the kernel has it, with its counter where it has one. */
export interface NftHeldElement extends NftElement {
  readonly packets?: bigint;
  readonly bytes?: bigint;
}

/** A set as the kernel has it. Types and flags are numbers there: `describesSet` compares them with ours. */
export interface NftHeldSet {
  readonly name: string;
  readonly flags: number;
  readonly keyType: number;
  /** 0 in sets that are no maps. */
  readonly valueType: number;
  readonly hasCounters: boolean;
  readonly comment: string | undefined;
}

export interface NftHeldChain extends Pick<NftChain, 'name' | 'base'> {
  /** Present where packets that no rule decides are dropped, which no chain of ours does. */
  readonly policy?: 'drop';
}

export interface NftHeldTable extends NftTable {
  readonly comment: string | undefined;
}

/** Someone else changed the watched table, or so much happened that nobody can tell. */
export type NftEvent =
  | {
      readonly kind: 'changed';
      readonly object: 'table' | 'chain' | 'rule' | 'set' | 'element';
      readonly isRemoval: boolean;
    }
  | { readonly kind: 'overrun' };

export interface NftRule {
  readonly chain: string;
  readonly expressions: readonly NftExpression[];
  readonly comment?: string;
}

/** A rule as the kernel has it: its expressions stay bytes, to be compared and not to be understood. */
export interface NftHeldRule {
  readonly chain: string;
  readonly handle: bigint;
  readonly expressions: Uint8Array;
  readonly comment: string | undefined;
}

/** Registers 1 to 4 have 16 bytes; 8 to 23 are the same room in pieces of 4. */
export type NftExpression =
  | {
      readonly kind: 'payload';
      readonly base: 'network' | 'transport';
      readonly offset: number;
      readonly length: number;
      readonly register: number;
    }
  | { readonly kind: 'meta'; readonly key: 'mark' | 'iifname' | 'l4proto'; readonly register: number }
  | { readonly kind: 'meta-set'; readonly key: 'mark'; readonly register: number }
  | { readonly kind: 'ct'; readonly key: 'state' | 'status'; readonly register: number }
  | { readonly kind: 'ct-original'; readonly key: 'dst-ip' | 'dst-ip6' | 'proto-dst'; readonly register: number }
  | { readonly kind: 'fib-type'; readonly of: 'saddr' | 'daddr'; readonly register: number }
  | {
      readonly kind: 'compare';
      readonly is: 'equal' | 'not-equal';
      readonly register: number;
      readonly data: Uint8Array;
    }
  | {
      readonly kind: 'bitwise';
      readonly register: number;
      readonly mask: Uint8Array;
      readonly xor: Uint8Array;
      /** nft names the operation where it computes a value, and not where it matches under a mask. */
      readonly isComputation?: boolean;
    }
  | {
      readonly kind: 'lookup';
      readonly set: string | NftAnonymousSet;
      readonly register: number;
      readonly isNegated?: boolean;
      /** For maps: where the value goes. Register 0 takes a verdict. */
      readonly into?: number;
    }
  | { readonly kind: 'numgen-random'; readonly modulus: number; readonly offset: number; readonly register: number }
  | {
      readonly kind: 'dnat';
      readonly addressRegister: number;
      readonly portRegister: number;
      /** nft marks a port that it was given as a constant. */
      readonly isPortConstant?: boolean;
    }
  | { readonly kind: 'masquerade'; readonly isFullyRandom: boolean }
  | { readonly kind: 'reject-port-unreachable' }
  | { readonly kind: 'verdict'; readonly verdict: NftVerdict }
  | { readonly kind: 'immediate'; readonly register: number; readonly data: Uint8Array }
  | {
      readonly kind: 'update';
      readonly map: string;
      readonly keyRegister: number;
      readonly valueRegister: number;
      readonly timeoutSeconds: number;
    };

export type NftOperation =
  | { readonly op: 'add-table'; readonly comment?: string }
  | { readonly op: 'delete-table' }
  | { readonly op: 'add-chain'; readonly chain: NftChain }
  | { readonly op: 'flush-chain'; readonly chain: string }
  | { readonly op: 'delete-chain'; readonly chain: string }
  | { readonly op: 'add-rule'; readonly rule: NftRule }
  | { readonly op: 'add-set'; readonly set: NftSet }
  | { readonly op: 'flush-set'; readonly set: string }
  | { readonly op: 'delete-set'; readonly set: string }
  | { readonly op: 'add-elements'; readonly set: NftSet; readonly elements: readonly NftElement[] }
  | { readonly op: 'delete-elements'; readonly set: NftSet; readonly keys: readonly string[] };
