// Values of nf_tables, between the text that nft writes and the bytes that the kernel compares. A concatenation
// (`10.96.0.10 . udp . 53`) is its parts, each padded with zeros to a multiple of 4 bytes.
import { cidrAddress, cidrPrefixLength, formatIp, ipBytes } from '../lib/ip.ts';
import type { NftSet, NftType, NftVerdict } from './nftables-objects.ts';

const JOINT = ' . ';

const TYPES: Readonly<Record<NftType, { readonly id: number; readonly length: number; readonly byteOrder: number }>> = {
  integer: { id: 4, length: 4, byteOrder: 1 },
  ipv4_addr: { id: 7, length: 4, byteOrder: 2 },
  ipv6_addr: { id: 8, length: 16, byteOrder: 2 },
  inet_proto: { id: 12, length: 1, byteOrder: 1 },
  inet_service: { id: 13, length: 2, byteOrder: 2 },
  mark: { id: 19, length: 4, byteOrder: 1 },
};

const PROTOCOL_NUMBERS = new Map([
  ['tcp', 6],
  ['udp', 17],
  ['sctp', 132],
]);
const PROTOCOL_NAMES = new Map(Array.from(PROTOCOL_NUMBERS, ([name, number]) => [number, name]));

/** NFTA_SET_KEY_TYPE: the type's number; of a concatenation, six bits for each part. */
export function typeId(types: readonly NftType[]): number {
  return types.reduce((id, type) => (id << 6) | TYPES[type].id, 0) >>> 0;
}

export function typeLength(types: readonly NftType[]): number {
  if (types.length === 1) return TYPES[types[0]!].length;
  return types.reduce((sum, type) => sum + paddedLength(type), 0);
}

/** What nft notes of a set's types for itself: 1 host order, 2 network order, 0 for concatenations. */
export function byteOrder(types: readonly NftType[]): number {
  return types.length === 1 ? TYPES[types[0]!].byteOrder : 0;
}

export function encodeValue(types: readonly NftType[], text: string): Uint8Array {
  const bytes = new Uint8Array(typeLength(types));
  encodeInto(bytes, 0, types, text);
  return bytes;
}

/** Writes a value where there are zeros. */
export function encodeInto(bytes: Uint8Array, at: number, types: readonly NftType[], text: string): void {
  let start = 0;
  let position = at;
  for (const [i, type] of types.entries()) {
    const isLast = i === types.length - 1;
    const end = isLast ? text.length : text.indexOf(JOINT, start);
    if (end < 0) throw new Error(`"${text}" does not have ${types.length} parts`);
    writePart(bytes, position, type, text, start, end);
    start = end + JOINT.length;
    position += paddedLength(type);
  }
}

export function decodeValue(types: readonly NftType[], bytes: Uint8Array): string {
  let text = '';
  let at = 0;
  for (const type of types) {
    if (at > 0) text += JOINT;
    text += readPart(type, bytes.subarray(at, at + TYPES[type].length));
    at += paddedLength(type);
  }
  return text;
}

export function protocolNumber(name: string): number {
  const number = PROTOCOL_NUMBERS.get(name);
  if (number === undefined) throw new Error(`not a transport protocol: "${name}"`);
  return number;
}

/** `drop`, or `goto reject-chain`. */
export function formatVerdict(verdict: NftVerdict): string {
  return 'chain' in verdict ? `${verdict.kind} ${verdict.chain}` : verdict.kind;
}

export function parseVerdict(text: string): NftVerdict {
  if (text.startsWith('goto ')) return { kind: 'goto', chain: text.slice(5) };
  if (text.startsWith('jump ')) return { kind: 'jump', chain: text.slice(5) };
  if (text === 'drop' || text === 'accept' || text === 'return') return { kind: text };
  throw new Error(`not a verdict: "${text}"`);
}

/** First address of a network or range, and the first one after it: undefined where it reaches the last address. */
export interface Interval {
  readonly start: Uint8Array;
  readonly end: Uint8Array | undefined;
}

/** Networks, addresses and ranges (`a-b`) as intervals in order, where those that touch have become one: the kernel
 *  refuses overlaps. */
export function intervals(texts: readonly string[]): Interval[] {
  const sorted = texts.map(intervalOf).sort((a, b) => Buffer.compare(a.start, b.start));
  const merged: Interval[] = [];
  for (const interval of sorted) {
    const last = merged.at(-1);
    if (!last || (last.end && Buffer.compare(interval.start, last.end) > 0)) merged.push(interval);
    else if (last.end && (!interval.end || Buffer.compare(interval.end, last.end) > 0)) {
      merged[merged.length - 1] = { start: last.start, end: interval.end };
    }
  }
  return merged;
}

function intervalOf(text: string): Interval {
  const dash = text.indexOf('-');
  if (dash > 0) return { start: ipBytes(text.slice(0, dash)), end: after(ipBytes(text.slice(dash + 1)), 0) };
  if (!text.includes('/')) return { start: ipBytes(text), end: after(ipBytes(text), 0) };
  const start = ipBytes(cidrAddress(text));
  return { start, end: after(start, start.length * 8 - cidrPrefixLength(text)) };
}

/** The address so many low bits further on, or undefined past the last one. */
function after(bytes: Uint8Array, lowBits: number): Uint8Array | undefined {
  const next = bytes.slice();
  let at = next.length - 1 - (lowBits >> 3);
  let carry = 1 << (lowBits & 7);
  for (; at >= 0 && carry > 0; at--) {
    const sum = next[at]! + carry;
    next[at] = sum & 0xff;
    carry = sum >> 8;
  }
  return carry > 0 ? undefined : next;
}

/** Types of a map's values; none for sets and for verdict maps. */
export function valueTypes(set: NftSet): readonly NftType[] {
  return set.value === undefined || set.value === 'verdict' ? [] : set.value;
}

function paddedLength(type: NftType): number {
  return (TYPES[type].length + 3) & ~3;
}

/** Writes the part of `text` between two places. Most of what is ever encoded comes through here, so nothing is cut out of
 *  the text that can be read in place. */
function writePart(bytes: Uint8Array, at: number, type: NftType, text: string, start: number, end: number): void {
  switch (type) {
    case 'ipv4_addr':
      writeIPv4(bytes, at, text, start, end);
      return;
    case 'ipv6_addr':
      bytes.set(ipBytes(text.slice(start, end)), at);
      return;
    case 'inet_proto':
      bytes[at] = protocolNumber(text.slice(start, end));
      return;
    case 'inet_service': {
      const port = readNumber(text, start, end, 0xffff);
      bytes[at] = port >> 8;
      bytes[at + 1] = port & 0xff;
      return;
    }
    case 'mark':
    case 'integer': {
      const value = readNumber(text, start, end, 0xffffffff);
      for (let i = 0; i < 4; i++) bytes[at + i] = value >>> (8 * i);
    }
  }
}

const DOT = 46;
const ZERO = 48;

/** Canonical text only. */
function writeIPv4(bytes: Uint8Array, at: number, text: string, start: number, end: number): void {
  let octet = 0;
  let dots = 0;
  for (let i = start; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code === DOT) {
      bytes[at + dots++] = octet;
      octet = 0;
    } else {
      octet = octet * 10 + code - ZERO;
      if (code < ZERO || code > ZERO + 9 || octet > 255) dots = 4; // no address
    }
    if (dots > 3) break;
  }
  if (dots !== 3) throw new Error(`not an IPv4 address: "${text.slice(start, end)}"`);
  bytes[at + 3] = octet;
}

function readNumber(text: string, start: number, end: number, max: number): number {
  let value = 0;
  for (let i = start; i < end; i++) {
    const code = text.charCodeAt(i);
    value = code < ZERO || code > ZERO + 9 ? Number.NaN : value * 10 + code - ZERO;
  }
  if (start === end || !(value <= max)) throw new Error(`not a number up to ${max}: "${text.slice(start, end)}"`);
  return value;
}

function readPart(type: NftType, bytes: Uint8Array): string {
  switch (type) {
    case 'ipv4_addr':
    case 'ipv6_addr':
      return formatIp(bytes);
    case 'inet_proto':
      return PROTOCOL_NAMES.get(bytes[0]!) ?? String(bytes[0]);
    case 'inet_service':
      return String((bytes[0]! << 8) | bytes[1]!);
    case 'mark':
    case 'integer':
      return String(new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true));
  }
}
