// What the kernel says of its tables. In: messages of a dump or of an event. Out: plain data, in nft's words.
import { formatIp } from '../lib/ip.ts';
import { type Attributes, nested, readAttributes, readList, textOf, u32, u64 } from './netlink/attributes.ts';
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
  return { name: textOf(attributes.get(3)!), ...(base && { base }) };
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
export function readElements(message: Message, set: NftSet): NftHeldElement[] {
  const list = readAttributes(message.body, NFGENMSG_LENGTH).get(3);
  if (!list) return [];
  return readList(list).map(([, payload]) => readElement(readAttributes(payload), set));
}

function readElement(attributes: Attributes, set: NftSet): NftHeldElement {
  const key = decodeValue(set.key, nested(attributes, 1)!.get(1)!);
  const isEnd = (u32(attributes.get(3) ?? new Uint8Array(4)) & 1) !== 0;
  const value = set.value ? readElementValue(nested(attributes, 2), set) : undefined;
  const comment = readComment(attributes.get(6));
  const timeout = attributes.get(4);
  return {
    key: isEnd ? `${END}${key}` : key,
    ...(value !== undefined && { value }),
    ...(comment !== undefined && { comment }),
    ...(timeout && { timeoutSeconds: Number(u64(timeout)) / 1000 }),
    ...readCounter(nested(attributes, 7)),
  };
}

function readElementValue(data: Attributes | undefined, set: NftSet): string | undefined {
  const verdict = data && nested(data, 2);
  if (verdict) {
    const chain = verdict.get(2);
    const name = VERDICT_NAMES.get(u32(verdict.get(1)!)) ?? 'unknown';
    return chain ? `${name} ${textOf(chain)}` : name;
  }
  const bytes = data?.get(1);
  return bytes && decodeValue(valueTypes(set), bytes);
}

function readCounter(expression: Attributes | undefined): { packets?: bigint; bytes?: bigint } {
  const name = expression?.get(1);
  const data = expression && nested(expression, 2);
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

export function readGeneration(message: Message): number {
  const id = readAttributes(message.body, NFGENMSG_LENGTH).get(1);
  return id ? u32(id) : 0;
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
