// In: rules as data.  Out: the expressions that the kernel runs for them, chosen as nft chooses them for print.ts's text.
import type { NftExpression, NftRule, NftTable } from '../../kernel/nftables-objects.ts';
import { protocolNumber } from '../../kernel/nftables-values.ts';
import { assertNever } from '../../lib/assert.ts';
import { cidrAddress, cidrPrefixLength, type Family, ipBytes } from '../../lib/ip.ts';
import type { Clause, Field, Rule } from './rules.ts';
import { TRANSPORTS } from './sets.ts';

const CT_STATE_NEW = 8; // 1 << (IP_CT_NEW + 1)
const IPS_DST_NAT = 0x20;
const RTN_LOCAL = 2;
const IFNAMSIZ = 16;

// Offsets of addresses in the IP header, and their length.
const ADDRESS = {
  IPv4: { saddr: 12, daddr: 16, length: 4 },
  IPv6: { saddr: 8, daddr: 24, length: 16 },
} as const;

export function ruleOf(table: NftTable, chain: string, { clauses, comment }: Rule): NftRule {
  const expressions = clauses.flatMap((clause) => expressionsOf(clause, table.family));
  return { chain, expressions, ...(comment !== undefined && { comment }) };
}

function expressionsOf(clause: Clause, family: Family): NftExpression[] {
  switch (clause.kind) {
    case 'is-new':
      return anyBit({ kind: 'ct', key: 'state', register: 1 }, CT_STATE_NEW);
    case 'is-translated':
      return anyBit({ kind: 'ct', key: 'status', register: 1 }, IPS_DST_NAT);
    case 'has-ports':
      return [l4proto, { kind: 'lookup', register: 1, set: { key: 'inet_proto', elements: TRANSPORTS } }];
    case 'in-set':
      return [...load(fieldsOf(clause.field), family), { kind: 'lookup', register: 1, set: clause.set }];
    case 'in-networks':
      return inNetworks(clause, family);
    case 'from-interface':
      return [
        { kind: 'meta', key: 'iifname', register: 1 },
        compare(clause.isNegated, interfaceBytes(clause.name, clause.isPrefix)),
      ];
    case 'from-node':
      return [{ kind: 'fib-type', of: 'saddr', register: 1 }, compare(false, hostWord(RTN_LOCAL))];
    case 'to-node':
      return [{ kind: 'fib-type', of: 'daddr', register: 1 }, compare(false, hostWord(RTN_LOCAL))];
    case 'has-mark':
      return [mark, bits(clause.mark, 0), compare(true, hostWord(0))];
    case 'set-mark':
      return [mark, bits(~clause.mark, clause.mark), storeMark];
    case 'toggle-mark':
      return [mark, bits(-1, clause.mark), storeMark];
    case 'verdict-of':
      return [...load(clause.fields, family), { kind: 'lookup', register: 1, set: clause.map, into: 0 }];
    case 'pick':
      return pick(clause, family);
    case 'stick':
      return stick(clause, family);
    case 'learn':
      return [
        address('saddr', family, 1),
        address('daddr', family, 2),
        { kind: 'update', map: clause.map, keyRegister: 1, valueRegister: 2, timeoutSeconds: clause.timeoutSeconds },
      ];
    case 'verdict':
      return [{ kind: 'verdict', verdict: clause.verdict }];
    case 'reject':
      return [{ kind: 'reject-port-unreachable' }];
    case 'masquerade':
      return [{ kind: 'masquerade', isFullyRandom: true }];
    default:
      return assertNever(clause);
  }
}

function pick(
  { transport, fields, count, offset, map }: Extract<Clause, { kind: 'pick' }>,
  family: Family,
): NftExpression[] {
  return [
    ...isTransport(transport),
    ...load(fields, family),
    { kind: 'numgen-random', modulus: count, offset, register: registerAt(widthOf(fields, family)) },
    { kind: 'lookup', register: 1, set: map, into: 1 },
    { kind: 'dnat', addressRegister: 1, portRegister: registerAt(widthOf(['daddr'], family)) },
  ];
}

function stick({ transport, map, port }: Extract<Clause, { kind: 'stick' }>, family: Family): NftExpression[] {
  return [
    ...isTransport(transport),
    address('saddr', family, 1),
    { kind: 'lookup', register: 1, set: map, into: 1 },
    { kind: 'immediate', register: 2, data: Uint8Array.of(port >> 8, port & 0xff) },
    { kind: 'dnat', addressRegister: 1, portRegister: 2, isPortConstant: true },
  ];
}

const l4proto: NftExpression = { kind: 'meta', key: 'l4proto', register: 1 };
const mark: NftExpression = { kind: 'meta', key: 'mark', register: 1 };
const storeMark: NftExpression = { kind: 'meta-set', key: 'mark', register: 1 };

function isTransport(transport: string): NftExpression[] {
  return [l4proto, compare(false, Uint8Array.of(protocolNumber(transport)))];
}

/** One network is compared with, several are looked up. nft loads only the bytes that a network names, where it names whole ones. */
function inNetworks(
  { field, networks, isNegated }: Extract<Clause, { kind: 'in-networks' }>,
  family: Family,
): NftExpression[] {
  const [only, ...others] = networks;
  if (only === undefined) return [];
  if (others.length > 0) {
    const key = family === 'IPv4' ? 'ipv4_addr' : 'ipv6_addr';
    const set = { key, isInterval: true, elements: networks } as const;
    return [address(field, family, 1), { kind: 'lookup', register: 1, set, ...(isNegated && { isNegated }) }];
  }
  const bytes = ipBytes(only.includes('/') ? cidrAddress(only) : only);
  const prefix = only.includes('/') ? cidrPrefixLength(only) : bytes.length * 8;
  if (prefix % 8 === 0) {
    const length = prefix / 8;
    const load = { kind: 'payload', base: 'network', offset: ADDRESS[family][field], length, register: 1 } as const;
    return [load, compare(isNegated, bytes.subarray(0, length))];
  }
  const mask = bytes.map((_, i) => 0xff00 >> Math.min(8, Math.max(0, prefix - 8 * i)));
  const xor = new Uint8Array(bytes.length);
  return [address(field, family, 1), { kind: 'bitwise', register: 1, mask, xor }, compare(isNegated, bytes)];
}

/** Loads fields side by side, as a concatenation wants them. */
function load(fields: readonly Field[], family: Family): NftExpression[] {
  return fields.map((field, i) => loadField(field, family, registerAt(widthOf(fields.slice(0, i), family))));
}

function loadField(field: Field, family: Family, register: number): NftExpression {
  switch (field) {
    case 'saddr':
    case 'daddr':
      return address(field, family, register);
    case 'l4proto':
      return { kind: 'meta', key: 'l4proto', register };
    case 'dport':
      return { kind: 'payload', base: 'transport', offset: 2, length: 2, register };
    case 'original-daddr':
      return { kind: 'ct-original', key: family === 'IPv4' ? 'dst-ip' : 'dst-ip6', register };
    case 'original-dport':
      return { kind: 'ct-original', key: 'proto-dst', register };
  }
}

function address(field: 'saddr' | 'daddr', family: Family, register: number): NftExpression {
  const { length, [field]: offset } = ADDRESS[family];
  return { kind: 'payload', base: 'network', offset, length, register };
}

/** In words of 4 bytes. */
function widthOf(fields: readonly Field[], family: Family): number {
  const width = (field: Field): number => (field.endsWith('addr') ? ADDRESS[family].length / 4 : 1);
  return fields.reduce((sum, field) => sum + width(field), 0);
}

/** Where a register of 16 bytes begins nft names that one, else the one of 4 bytes. */
function registerAt(word: number): number {
  return word % 4 === 0 ? 1 + word / 4 : 8 + word;
}

function anyBit(source: NftExpression, bit: number): NftExpression[] {
  return [source, { kind: 'bitwise', register: 1, mask: hostWord(bit), xor: hostWord(0) }, compare(true, hostWord(0))];
}

function bits(mask: number, xor: number): NftExpression {
  return { kind: 'bitwise', register: 1, mask: hostWord(mask), xor: hostWord(xor), isComputation: true };
}

function compare(isNegated: boolean, data: Uint8Array): NftExpression {
  return { kind: 'compare', is: isNegated ? 'not-equal' : 'equal', register: 1, data };
}

function hostWord(value: number): Uint8Array {
  return new Uint8Array(Uint32Array.of(value).buffer);
}

/** A whole name is compared with its padding, a prefix without. */
function interfaceBytes(name: string, isPrefix: boolean): Uint8Array {
  const bytes = Buffer.from(name);
  return isPrefix ? bytes : Buffer.concat([bytes], IFNAMSIZ);
}

function fieldsOf(field: Field | readonly Field[]): readonly Field[] {
  return typeof field === 'string' ? [field] : field;
}
