// The expressions of a held rule, back from bytes. In: what the kernel lists for a rule. Out: the data that writeExpression makes
// such bytes of; undefined where anything in them is not among what we write, so that nothing is half understood. The
// kernel adds attributes to what it was sent; they are known here by the values that they then have.
import { type Attributes, nested, readAttributes, readList, textOf, u32, u64 } from './netlink/attributes.ts';
import {
  COMPARE_OP,
  CT_KEY,
  FAMILY_NUMBER,
  FIB_FLAG,
  ICMP_PORT_UNREACHABLE,
  IP_CT_DIR_ORIGINAL,
  META_KEY,
  NF_NAT_RANGE_PROTO_RANDOM_FULLY,
  NFT_DYNSET_OP_UPDATE,
  NFT_FIB_RESULT_ADDRTYPE,
  NFT_LOOKUP_F_INV,
  NFT_NAT_DNAT,
  NFT_NG_RANDOM,
  NFT_REJECT_ICMP_UNREACH,
  PAYLOAD_BASE,
  VERDICT_CODES,
} from './nftables-expressions.ts';
import type { NftExpression, NftTable, NftVerdict } from './nftables-objects.ts';

const NF_NAT_RANGE_MAP_IPS_AND_PROTO = 3; // what the kernel notes of a translation of both

export function decodeExpressions(bytes: Uint8Array, table: NftTable): readonly NftExpression[] | undefined {
  const expressions: NftExpression[] = [];
  for (const [, element] of readList(bytes)) {
    const parts = readAttributes(element);
    const decoder = DECODERS.get(textOf(parts.get(1) ?? new Uint8Array()));
    const fields = new Fields(nested(parts, 2) ?? new Map());
    const expression = decoder?.(fields, table);
    if (!expression || fields.hasOthers) return undefined;
    expressions.push(expression);
  }
  return expressions;
}

/** The attributes of one expression, and which of them were asked for: one that nobody asked for may mean anything. */
class Fields {
  readonly #attributes: Attributes;
  readonly #asked = new Set<number>();

  constructor(attributes: Attributes) {
    this.#attributes = attributes;
  }

  get hasOthers(): boolean {
    return [...this.#attributes.keys()].some((type) => !this.#asked.has(type));
  }

  bytes(type: number): Uint8Array | undefined {
    this.#asked.add(type);
    return this.#attributes.get(type);
  }

  u8(type: number): number | undefined {
    return this.bytes(type)?.[0];
  }

  u32(type: number): number | undefined {
    const bytes = this.bytes(type);
    return bytes && u32(bytes);
  }

  u64(type: number): bigint | undefined {
    const bytes = this.bytes(type);
    return bytes && u64(bytes);
  }

  text(type: number): string | undefined {
    const bytes = this.bytes(type);
    return bytes && textOf(bytes);
  }

  /** A nested NFTA_DATA_VALUE. */
  value(type: number): Uint8Array | undefined {
    const bytes = this.bytes(type);
    return bytes && readAttributes(bytes).get(1);
  }

  /** Absent, or this. */
  isOnly(type: number, value: number | undefined): boolean {
    const there = this.u32(type);
    return there === undefined || there === value;
  }
}

type Decoder = (fields: Fields, table: NftTable) => NftExpression | undefined;

// The first number of each call is the attribute's, as in nftables-expressions.ts.
const DECODERS: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ['payload', payload],
  ['meta', meta],
  ['ct', ct],
  ['fib', fib],
  ['cmp', compare],
  ['bitwise', bitwise],
  ['lookup', lookup],
  ['numgen', numgen],
  ['nat', nat],
  ['masq', masquerade],
  ['reject', reject],
  ['immediate', immediate],
  ['dynset', update],
]);

function payload(fields: Fields): NftExpression | undefined {
  const register = fields.u32(1);
  const base = nameOf(PAYLOAD_BASE, fields.u32(2));
  const offset = fields.u32(3);
  const length = fields.u32(4);
  if (register === undefined || !base || offset === undefined || length === undefined) return undefined;
  return { kind: 'payload', base, offset, length, register };
}

function meta(fields: Fields): NftExpression | undefined {
  const key = nameOf(META_KEY, fields.u32(2));
  const into = fields.u32(1);
  const from = fields.u32(3);
  if (key && into !== undefined && from === undefined) return { kind: 'meta', key, register: into };
  if (key === 'mark' && from !== undefined) return { kind: 'meta-set', key, register: from };
  return undefined;
}

function ct(fields: Fields): NftExpression | undefined {
  const key = nameOf(CT_KEY, fields.u32(2));
  const register = fields.u32(1);
  const direction = fields.u8(3);
  if (!key || register === undefined) return undefined;
  if (key === 'state' || key === 'status') return direction === undefined ? { kind: 'ct', key, register } : undefined;
  return direction === IP_CT_DIR_ORIGINAL ? { kind: 'ct-original', key, register } : undefined;
}

function fib(fields: Fields): NftExpression | undefined {
  const of = nameOf(FIB_FLAG, fields.u32(3));
  const register = fields.u32(1);
  if (!of || register === undefined || fields.u32(2) !== NFT_FIB_RESULT_ADDRTYPE) return undefined;
  return { kind: 'fib-type', of, register };
}

function compare(fields: Fields): NftExpression | undefined {
  const register = fields.u32(1);
  const is = nameOf(COMPARE_OP, fields.u32(2));
  const data = fields.value(3);
  return register !== undefined && is && data ? { kind: 'compare', is, register, data } : undefined;
}

/** In place, as all of ours are. */
function bitwise(fields: Fields): NftExpression | undefined {
  const register = fields.u32(1);
  const length = fields.u32(3);
  const mask = fields.value(4);
  const xor = fields.value(5);
  if (register === undefined || fields.u32(2) !== register || !fields.isOnly(6, 0)) return undefined;
  return mask?.length === length && xor?.length === length
    ? { kind: 'bitwise', register, mask: mask!, xor: xor! }
    : undefined;
}

function lookup(fields: Fields): NftExpression | undefined {
  const set = fields.text(1);
  const register = fields.u32(2);
  const into = fields.u32(3);
  const flags = fields.u32(5) ?? 0;
  if (set === undefined || register === undefined || (flags & ~NFT_LOOKUP_F_INV) !== 0) return undefined;
  const isNegated = flags === NFT_LOOKUP_F_INV;
  return { kind: 'lookup', set, register, ...(isNegated && { isNegated }), ...(into !== undefined && { into }) };
}

function numgen(fields: Fields): NftExpression | undefined {
  const register = fields.u32(1);
  const modulus = fields.u32(2);
  const offset = fields.u32(4) ?? 0;
  if (register === undefined || modulus === undefined || fields.u32(3) !== NFT_NG_RANDOM) return undefined;
  return { kind: 'numgen-random', modulus, offset, register };
}

function nat(fields: Fields, { family }: NftTable): NftExpression | undefined {
  const addressRegister = fields.u32(3);
  const portRegister = fields.u32(5);
  if (fields.u32(1) !== NFT_NAT_DNAT || fields.u32(2) !== FAMILY_NUMBER[family]) return undefined;
  if (addressRegister === undefined || portRegister === undefined) return undefined;
  const hasOneEach = fields.isOnly(4, addressRegister) && fields.isOnly(6, portRegister);
  const flags = fields.u32(7) ?? 0;
  if (!hasOneEach || (flags & ~NF_NAT_RANGE_MAP_IPS_AND_PROTO) !== 0) return undefined;
  return { kind: 'dnat', addressRegister, portRegister };
}

function masquerade(fields: Fields): NftExpression | undefined {
  const flags = fields.u32(1) ?? 0;
  if ((flags & ~NF_NAT_RANGE_PROTO_RANDOM_FULLY) !== 0) return undefined;
  return { kind: 'masquerade', isFullyRandom: flags !== 0 };
}

function reject(fields: Fields, { family }: NftTable): NftExpression | undefined {
  const isOurs = fields.u32(1) === NFT_REJECT_ICMP_UNREACH && fields.u8(2) === ICMP_PORT_UNREACHABLE[family];
  return isOurs ? { kind: 'reject-port-unreachable' } : undefined;
}

function immediate(fields: Fields): NftExpression | undefined {
  const register = fields.u32(1);
  const data = fields.bytes(2);
  if (register === undefined || !data) return undefined;
  const parts = readAttributes(data);
  const value = parts.get(1);
  if (register !== 0) return value && { kind: 'immediate', register, data: value };
  const verdict = verdictOf(nested(parts, 2) ?? new Map());
  return verdict && { kind: 'verdict', verdict };
}

function verdictOf(parts: Attributes): NftVerdict | undefined {
  const code = parts.get(1);
  const chain = parts.get(2);
  const kind = code && nameOf(VERDICT_CODES, u32(code) | 0); // signed
  if (kind === 'jump' || kind === 'goto') return chain && { kind, chain: textOf(chain) };
  return kind && { kind };
}

function update(fields: Fields): NftExpression | undefined {
  const map = fields.text(1);
  const keyRegister = fields.u32(4);
  const valueRegister = fields.u32(5);
  const milliseconds = fields.u64(6);
  if (fields.u32(3) !== NFT_DYNSET_OP_UPDATE || !fields.isOnly(9, 0)) return undefined;
  if (map === undefined || keyRegister === undefined || valueRegister === undefined || milliseconds === undefined)
    return undefined;
  return { kind: 'update', map, keyRegister, valueRegister, timeoutSeconds: Number(milliseconds) / 1000 };
}

function nameOf<Name extends string>(
  numbers: Readonly<Record<Name, number>>,
  number: number | undefined,
): Name | undefined {
  return (Object.keys(numbers) as Name[]).find((name) => numbers[name] === number);
}
