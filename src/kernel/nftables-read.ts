// What the kernel says of its tables. In: messages of a dump or of an event. Out: plain data, in nft's words.
import { formatIp } from '../lib/ip.ts';
import {
  type Attributes,
  eachAttribute,
  NLA_HDRLEN,
  nested,
  readAttributes,
  textOf,
  u32,
  u64,
} from './netlink/attributes.ts';
import type { Message } from './netlink/message.ts';
import { NFGENMSG_LENGTH, NFPROTO, SUBSYSTEM } from './netlink/netfilter.ts';
import { VERDICT_CODES } from './nftables-expressions.ts';
import type {
  NftBase,
  NftEvent,
  NftHeldChain,
  NftHeldElement,
  NftHeldRule,
  NftHeldSet,
  NftHeldTable,
  NftSet,
  NftTable,
} from './nftables-objects.ts';
import { HOOK_NAMES, MESSAGE, setFlags, valueTypeId } from './nftables-steps.ts';
import { readComment, readSetComment } from './nftables-userdata.ts';
import { decodeValue, typeId, valueTypes } from './nftables-values.ts';

const VERDICT_NAMES = new Map(Object.entries(VERDICT_CODES).map(([name, code]) => [code >>> 0, name]));

export function readTable(message: Message, table: NftTable): NftHeldTable | undefined {
  const attributes = ours(message, table);
  return attributes && { ...table, comment: readComment(attributes.get(6)) };
}

export function readChain(message: Message, table: NftTable): NftHeldChain | undefined {
  const attributes = ours(message, table);
  if (!attributes) return undefined;
  const base = readBase(attributes);
  const policy = attributes.get(5);
  const drops = policy !== undefined && u32(policy) === VERDICT_CODES.drop;
  return { name: textOf(attributes.get(3)!), ...(base && { base }), ...(base && drops && { policy: 'drop' }) };
}

function readBase(attributes: Attributes): NftBase | undefined {
  const hook = nested(attributes, 4);
  const number = hook?.get(1);
  const priority = hook?.get(2);
  const type = attributes.get(7);
  if (!number || !priority || !type) return undefined;
  return {
    type: textOf(type) as NftBase['type'],
    hook: HOOK_NAMES[u32(number)] ?? 'prerouting',
    priority: u32(priority) | 0, // signed
  };
}

export function readRule(message: Message, table: NftTable): NftHeldRule | undefined {
  const attributes = ours(message, table);
  if (!attributes) return undefined;
  return {
    chain: textOf(attributes.get(2)!),
    handle: u64(attributes.get(3)!),
    expressions: attributes.get(4)?.slice() ?? new Uint8Array(),
    comment: readComment(attributes.get(7)),
  };
}

export function readSet(message: Message, table: NftTable): NftHeldSet | undefined {
  const attributes = ours(message, table);
  if (!attributes) return undefined;
  return {
    name: textOf(attributes.get(2)!),
    flags: u32(attributes.get(3) ?? new Uint8Array(4)),
    keyType: u32(attributes.get(4) ?? new Uint8Array(4)),
    valueType: u32(attributes.get(6) ?? new Uint8Array(4)),
    hasCounters: attributes.has(17),
    comment: readSetComment(attributes.get(13)),
  };
}

/** Whether a set of the kernel is what adding ours would make. */
export function describesSet(held: NftHeldSet, set: NftSet): boolean {
  return (
    held.name === set.name &&
    held.flags === setFlags(set) &&
    held.keyType === typeId(set.key) &&
    held.valueType === valueTypeId(set) &&
    held.hasCounters === (set.hasCounters ?? false) &&
    held.comment === set.comment
  );
}

/** The elements in one message; in sets with intervals, still one for each end. */
export function readElements({ body }: Message, set: NftSet, withCounters: boolean): NftHeldElement[] {
  const elements: NftHeldElement[] = [];
  eachAttribute(body, NFGENMSG_LENGTH, body.length, (type, start, end) => {
    if (type !== 3) return;
    eachAttribute(body, start, end, (_, from, to) => elements.push(readElement(body, from, to, set, withCounters)));
  });
  return elements;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

function readElement(bytes: Uint8Array, from: number, to: number, set: NftSet, withCounters: boolean): NftHeldElement {
  const element: Mutable<NftHeldElement> = { key: '' };
  let isEnd = false;
  let comment: string | undefined;
  eachAttribute(bytes, from, to, (type, start, end) => {
    const payload = (): Uint8Array => bytes.subarray(start, end);
    if (type === 1) element.key = decodeValue(set.key, bytes.subarray(start + NLA_HDRLEN, end));
    else if (type === 2 && set.value) element.value = readElementValue(payload(), set);
    else if (type === 3) isEnd = (u32(payload()) & 1) !== 0;
    else if (type === 4) element.timeoutSeconds = Number(u64(payload())) / 1000;
    else if (type === 6) comment = readComment(payload());
    else if (type === 7 && withCounters) Object.assign(element, readCounter(readAttributes(payload())));
  });
  if (comment !== undefined) element.comment = comment;
  if (isEnd) element.key = `${END}${element.key}`;
  return element;
}

/** A value, or a verdict with its code and perhaps a chain. */
function readElementValue(data: Uint8Array, set: NftSet): string {
  if (set.value !== 'verdict') return decodeValue(valueTypes(set), data.subarray(NLA_HDRLEN));
  let name = 'unknown';
  let chain = '';
  eachAttribute(data, NLA_HDRLEN, data.length, (type, start, end) => {
    if (type === 1) name = VERDICT_NAMES.get(u32(data.subarray(start, end))) ?? name;
    else if (type === 2) chain = ` ${textOf(data.subarray(start, end))}`;
  });
  return `${name}${chain}`;
}

function readCounter(expression: Attributes): { packets?: bigint; bytes?: bigint } {
  const name = expression.get(1);
  const data = nested(expression, 2);
  if (!name || !data || textOf(name) !== 'counter') return {};
  return { bytes: u64(data.get(1)!), packets: u64(data.get(2)!) };
}

// Marks the first key after a range until the ends have met their starts.
const END = 'end ';

/** Ends and starts of ranges, in any order, as the networks and ranges they stand for. */
export function joinIntervals(
  elements: readonly NftHeldElement[],
  keyBytes: (key: string) => Uint8Array,
): NftHeldElement[] {
  const points = elements.map((element) => {
    const isEnd = element.key.startsWith(END);
    return { element, isEnd, bytes: keyBytes(isEnd ? element.key.slice(END.length) : element.key) };
  });
  // At one key the end of a range comes before the start of the next.
  points.sort((a, b) => Buffer.compare(a.bytes, b.bytes) || Number(b.isEnd) - Number(a.isEnd));
  return points.flatMap((point, i) => {
    if (point.isEnd) return [];
    return [{ ...point.element, key: formatRange(point.bytes, points[i + 1]?.bytes) }];
  });
}

/** A network where the range is one, else `first-last`. `end` is the first address after it, undefined past the last. */
export function formatRange(start: Uint8Array, end: Uint8Array | undefined): string {
  const bits = start.length * 8;
  const first = toBigInt(start);
  const after = end ? toBigInt(end) : 1n << BigInt(bits);
  const size = after - first;
  const isNetwork = (size & (size - 1n)) === 0n && (first & (size - 1n)) === 0n;
  if (!isNetwork) return `${formatIp(start)}-${formatIp(fromBigInt(after - 1n, start.length))}`;
  const prefix = bits - (size.toString(2).length - 1);
  return prefix === bits ? formatIp(start) : `${formatIp(start)}/${prefix}`;
}

function toBigInt(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
}

function fromBigInt(value: bigint, length: number): Uint8Array {
  return Buffer.from(value.toString(16).padStart(2 * length, '0'), 'hex');
}

const OBJECTS = new Map<number, Omit<Extract<NftEvent, { kind: 'changed' }>, 'kind'>>([
  [MESSAGE.newTable, { object: 'table', isRemoval: false }],
  [MESSAGE.deleteTable, { object: 'table', isRemoval: true }],
  [MESSAGE.newChain, { object: 'chain', isRemoval: false }],
  [MESSAGE.deleteChain, { object: 'chain', isRemoval: true }],
  [MESSAGE.newRule, { object: 'rule', isRemoval: false }],
  [MESSAGE.deleteRule, { object: 'rule', isRemoval: true }],
  [MESSAGE.newSet, { object: 'set', isRemoval: false }],
  [MESSAGE.deleteSet, { object: 'set', isRemoval: true }],
  [MESSAGE.newElements, { object: 'element', isRemoval: false }],
  [MESSAGE.deleteElements, { object: 'element', isRemoval: true }],
]);

/** What an event says of our table; undefined for other tables and for news of generations. */
export function readEvent(message: Message, table: NftTable): NftEvent | undefined {
  const change = message.type >> 8 === SUBSYSTEM.nftables ? OBJECTS.get(message.type & 0xff) : undefined;
  return change && ours(message, table) ? { kind: 'changed', ...change } : undefined;
}

/** The attributes, if the message is about our table: its name is attribute 1 in all of them. */
function ours(message: Message, table: NftTable): Attributes | undefined {
  if (message.body[0] !== NFPROTO[table.family]) return undefined;
  const attributes = readAttributes(message.body, NFGENMSG_LENGTH);
  const name = attributes.get(1);
  return name && textOf(name) === table.name ? attributes : undefined;
}
