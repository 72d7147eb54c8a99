// A transaction on one table, as netlink messages. In: operations. Out: steps with their bytes and their words.
import { assertNever } from '../lib/assert.ts';
import { MessageWriter } from './netlink/attributes.ts';
import { HEADER_LENGTH, NLM_F_APPEND, NLM_F_CREATE } from './netlink/message.ts';
import { NFGENMSG_LENGTH, NFPROTO, type Step } from './netlink/netfilter.ts';
import { type SetReference, writeExpression, writeValue, writeVerdict } from './nftables-expressions.ts';
import type {
  NftAnonymousSet,
  NftChain,
  NftElement,
  NftExpression,
  NftHook,
  NftOperation,
  NftRule,
  NftSet,
  NftTable,
  NftType,
} from './nftables-objects.ts';
import { commentUserdata, setUserdata, writeComment } from './nftables-userdata.ts';
import { encodeInto, encodeValue, intervals, parseVerdict, typeId, typeLength, valueTypes } from './nftables-values.ts';

// NFT_MSG_* of linux/netfilter/nf_tables.h
export const MESSAGE = {
  newTable: 0,
  getTable: 1,
  deleteTable: 2,
  newChain: 3,
  getChain: 4,
  deleteChain: 5,
  newRule: 6,
  getRule: 7,
  deleteRule: 8,
  newSet: 9,
  getSet: 10,
  deleteSet: 11,
  newElements: 12,
  getElements: 13,
  deleteElements: 14,
} as const;

/** By their numbers. */
export const HOOK_NAMES: readonly NftHook[] = ['prerouting', 'input', 'forward', 'output', 'postrouting'];

export const NFT_SET_ANONYMOUS = 1;
export const NFT_SET_CONSTANT = 2;
export const NFT_SET_INTERVAL = 4;
export const NFT_SET_MAP = 8;
export const NFT_SET_TIMEOUT = 0x10;
export const NFT_SET_EVAL = 0x20;
const NFT_SET_ELEM_INTERVAL_END = 1;
const NFT_DATA_VERDICT = 0xffffff00;

// An attribute holds at most 65,535 bytes, and the elements of one message are one attribute. Smaller messages also name
// the refused element sooner.
const ELEMENTS_PER_MESSAGE = 100;

export function encodeSteps(table: NftTable, operations: readonly NftOperation[]): Step[] {
  const encoder = new StepEncoder(table);
  for (const operation of operations) for (const small of inMessages(operation)) encoder.add(small);
  return encoder.steps;
}

/** The same as operations that fit one message each. */
export function inMessages(operation: NftOperation): NftOperation[] {
  switch (operation.op) {
    case 'add-elements':
      return inParts(operation.elements).map((elements) => ({ ...operation, elements }));
    case 'delete-elements':
      return inParts(operation.keys).map((keys) => ({ ...operation, keys }));
    default:
      return [operation];
  }
}

function inParts<T>(elements: readonly T[]): T[][] {
  const count = Math.ceil(elements.length / ELEMENTS_PER_MESSAGE);
  return Array.from({ length: count }, (_, i) =>
    elements.slice(i * ELEMENTS_PER_MESSAGE, (i + 1) * ELEMENTS_PER_MESSAGE),
  );
}

class StepEncoder {
  readonly steps: Step[] = [];
  readonly #table: NftTable;
  readonly #setIds = new Map<string, number>();
  #lastSetId = 0;

  constructor(table: NftTable) {
    this.#table = table;
  }

  add(operation: NftOperation): void {
    switch (operation.op) {
      case 'add-table':
        this.#step(MESSAGE.newTable, 0, 'add table', (writer) =>
          writeTable(writer, this.#table.name, operation.comment),
        );
        return;
      case 'delete-table':
        this.#setIds.clear();
        this.#step(MESSAGE.deleteTable, 0, 'delete table', (writer) => writer.text(1, this.#table.name));
        return;
      case 'add-chain':
        this.#step(MESSAGE.newChain, NLM_F_CREATE, `add chain ${operation.chain.name}`, (writer) =>
          writeChain(writer, this.#table.name, operation.chain),
        );
        return;
      case 'flush-chain':
        this.#step(MESSAGE.deleteRule, 0, `flush chain ${operation.chain}`, (writer) => {
          writer.text(1, this.#table.name);
          writer.text(2, operation.chain);
        });
        return;
      case 'delete-chain':
        this.#step(MESSAGE.deleteChain, 0, `delete chain ${operation.chain}`, (writer) => {
          writer.text(1, this.#table.name);
          writer.text(3, operation.chain);
        });
        return;
      case 'add-rule':
        this.#addRule(operation.rule);
        return;
      case 'add-set':
        this.#addSet(operation.set);
        return;
      case 'flush-set':
        this.#step(MESSAGE.deleteElements, 0, `flush set ${operation.set}`, (writer) => {
          writer.text(2, operation.set);
          writer.text(1, this.#table.name);
        });
        return;
      case 'delete-set':
        this.#setIds.delete(operation.set);
        this.#step(MESSAGE.deleteSet, 0, `delete set ${operation.set}`, (writer) => {
          writer.text(1, this.#table.name);
          writer.text(2, operation.set);
        });
        return;
      case 'add-elements':
        this.#elements(MESSAGE.newElements, NLM_F_CREATE, operation.set, operation.elements);
        return;
      case 'delete-elements':
        this.#elements(
          MESSAGE.deleteElements,
          0,
          operation.set,
          operation.keys.map((key) => ({ key })),
        );
        return;
      default:
        assertNever(operation);
    }
  }

  #step(message: number, flags: number, words: string, write: Step['write'], describe?: Step['describe']): void {
    const family = NFPROTO[this.#table.family];
    this.steps.push({ message, flags, family, write, describe: describe ?? (() => words) });
  }

  #addSet(set: NftSet): void {
    const id = ++this.#lastSetId;
    this.#setIds.set(set.name, id);
    this.#step(MESSAGE.newSet, NLM_F_CREATE, `add set ${set.name}`, (writer) =>
      writeSet(writer, this.#table.name, set, id),
    );
  }

  #addRule(rule: NftRule): void {
    const anonymous = new Map<NftAnonymousSet, SetReference>();
    for (const expression of rule.expressions) {
      if (expression.kind !== 'lookup' || typeof expression.set === 'string') continue;
      anonymous.set(expression.set, this.#addAnonymousSet(expression.set, rule.chain));
    }
    const resolve = (set: string | NftAnonymousSet): SetReference =>
      typeof set === 'string' ? { name: set, id: this.#setIds.get(set) } : anonymous.get(set)!;
    const resolved = new Map<NftExpression, SetReference>();
    for (const expression of rule.expressions) {
      if (expression.kind === 'lookup') resolved.set(expression, resolve(expression.set));
      if (expression.kind === 'update') resolved.set(expression, resolve(expression.map));
    }
    this.#step(MESSAGE.newRule, NLM_F_CREATE | NLM_F_APPEND, `add rule in ${rule.chain}`, (writer) => {
      writer.text(1, this.#table.name);
      writer.text(2, rule.chain);
      writer.begin(4);
      for (const expression of rule.expressions) {
        writeExpression(writer, this.#table, expression, () => resolved.get(expression)!);
      }
      writer.end();
      if (rule.comment) writer.bytes(7, commentUserdata(rule.comment));
    });
  }

  /** An anonymous set must have its elements before the rule that uses it; then it is frozen. */
  #addAnonymousSet(set: NftAnonymousSet, chain: string): SetReference {
    const id = ++this.#lastSetId;
    const name = '__set%d'; // the kernel puts the number in
    const elements = anonymousElements(set);
    const words = `add anonymous set of a rule in ${chain}`;
    this.#step(MESSAGE.newSet, NLM_F_CREATE, words, (writer) =>
      writeAnonymousSet(writer, this.#table.name, { name, id }, set, elements.length),
    );
    this.#step(MESSAGE.newElements, NLM_F_CREATE, words, (writer) => {
      writer.text(1, this.#table.name);
      writer.text(2, name);
      writer.u32(4, id);
      writer.begin(3);
      for (const [i, element] of elements.entries()) {
        writer.begin(i + 1);
        writeElementKey(writer, element.bytes, element.isEnd);
        writer.end();
      }
      writer.end();
    });
    return { name, id };
  }

  #elements(message: number, flags: number, set: NftSet, elements: readonly NftElement[]): void {
    const id = this.#setIds.get(set.name);
    const verb = message === MESSAGE.newElements ? 'add' : 'delete';
    const write = (writer: MessageWriter): number[] => writeElements(writer, this.#table.name, set, elements, id);
    const describe = (offset?: number): string => `${verb} element ${set.name} ${namedAt(write, elements, offset)}`;
    this.#step(message, flags, '', write, describe);
  }
}

/** The element whose attribute the kernel points at; the first and a count where it points nowhere. */
function namedAt(write: (writer: MessageWriter) => number[], elements: readonly NftElement[], offset?: number): string {
  if (elements.length === 1) return elements[0]!.key;
  const starts = offset === undefined ? [] : write(new MessageWriter());
  const hit = starts.findLastIndex((start) => HEADER_LENGTH + NFGENMSG_LENGTH + start <= offset!);
  return hit >= 0 ? elements[hit]!.key : `${elements[0]!.key} or one of ${elements.length - 1} more`;
}

function writeTable(writer: MessageWriter, name: string, comment: string | undefined): void {
  writer.text(1, name);
  writer.u32(2, 0);
  if (comment) writer.bytes(6, commentUserdata(comment));
}

function writeChain(writer: MessageWriter, table: string, { name, base, comment }: NftChain): void {
  writer.text(1, table);
  writer.text(3, name);
  if (base) {
    writer.text(7, base.type);
    writer.begin(4);
    writer.u32(1, HOOK_NAMES.indexOf(base.hook));
    writer.u32(2, base.priority);
    writer.end();
  }
  if (comment) writer.bytes(12, commentUserdata(comment));
}

function writeSet(writer: MessageWriter, table: string, set: NftSet, id: number): void {
  writer.text(1, table);
  writer.text(2, set.name);
  writer.u32(3, setFlags(set));
  writer.u32(4, typeId(set.key));
  writer.u32(5, typeLength(set.key));
  if (set.value) {
    writer.u32(6, valueTypeId(set));
    writer.u32(7, set.value === 'verdict' ? 0 : typeLength(set.value));
  }
  writer.u32(10, id);
  if (set.maxElements !== undefined) writeSize(writer, set.maxElements);
  if (set.timeoutSeconds !== undefined) writer.u64(11, BigInt(set.timeoutSeconds) * 1000n);
  writer.bytes(13, setUserdata(set));
  if (set.hasCounters) {
    writer.begin(17);
    writer.text(1, 'counter');
    writer.begin(2);
    writer.end();
    writer.end();
  }
}

/** 0 for what is no map. */
export function valueTypeId({ value }: NftSet): number {
  if (value === undefined) return 0;
  return value === 'verdict' ? NFT_DATA_VERDICT : typeId(value);
}

export function setFlags(set: NftSet): number {
  return (
    (set.isInterval ? NFT_SET_INTERVAL : 0) |
    (set.value ? NFT_SET_MAP : 0) |
    (set.hasTimeout || set.timeoutSeconds !== undefined ? NFT_SET_TIMEOUT : 0) |
    (set.isDynamic ? NFT_SET_EVAL : 0)
  );
}

function writeAnonymousSet(
  writer: MessageWriter,
  table: string,
  { name, id }: SetReference,
  set: NftAnonymousSet,
  size: number,
): void {
  writer.text(1, table);
  writer.text(2, name);
  writer.u32(3, NFT_SET_ANONYMOUS | NFT_SET_CONSTANT | (set.isInterval ? NFT_SET_INTERVAL : 0));
  writer.u32(4, typeId([set.key]));
  writer.u32(5, typeLength([set.key]));
  writer.u32(10, id!);
  writeSize(writer, size);
  writer.bytes(13, setUserdata({ name, key: [set.key] }));
}

function writeSize(writer: MessageWriter, size: number): void {
  writer.begin(9);
  writer.u32(1, size);
  writer.end();
}

/** Returns where each element starts, counted from the writer's own start. */
function writeElements(
  writer: MessageWriter,
  table: string,
  set: NftSet,
  elements: readonly NftElement[],
  id: number | undefined,
): number[] {
  const starts: number[] = [];
  const origin = writer.length;
  writer.text(1, table);
  writer.text(2, set.name);
  if (id !== undefined) writer.u32(4, id);
  writer.begin(3);
  for (const [i, element] of elements.entries()) {
    starts.push(writer.length - origin);
    if (set.isInterval) writeInterval(writer, i, element.key);
    else {
      writer.begin(i + 1);
      writeElement(writer, set, element);
      writer.end();
    }
  }
  writer.end();
  return starts;
}

function writeElement(writer: MessageWriter, set: NftSet, element: NftElement): void {
  if (element.timeoutSeconds !== undefined) writer.u64(4, BigInt(element.timeoutSeconds) * 1000n);
  writeTyped(writer, 1, set.key, element.key);
  if (element.value !== undefined && set.value === 'verdict') {
    writer.begin(2);
    writeVerdict(writer, parseVerdict(element.value));
    writer.end();
  } else if (element.value !== undefined) {
    writeTyped(writer, 2, valueTypes(set), element.value);
  }
  if (element.comment) writeComment(writer, 6, element.comment);
}

function writeTyped(writer: MessageWriter, type: number, types: readonly NftType[], text: string): void {
  writer.begin(type);
  const at = writer.room(1, typeLength(types));
  encodeInto(writer.buffer, at, types, text);
  writer.end();
}

/** A range of a named set is two elements: its start, and the first key after it. */
function writeInterval(writer: MessageWriter, index: number, key: string): void {
  for (const { start, end } of intervals([key])) {
    writer.begin(2 * index + 1);
    writeElementKey(writer, start, false);
    writer.end();
    if (!end) continue;
    writer.begin(2 * index + 2);
    writeElementKey(writer, end, true);
    writer.end();
  }
}

function writeElementKey(writer: MessageWriter, bytes: Uint8Array, isEnd: boolean): void {
  if (isEnd) writer.u32(3, NFT_SET_ELEM_INTERVAL_END);
  writeValue(writer, 1, bytes);
}

interface KeyBytes {
  readonly bytes: Uint8Array;
  readonly isEnd: boolean;
}

/** nft puts an end at key 0 in front of all ranges, and so do we. */
function anonymousElements(set: NftAnonymousSet): KeyBytes[] {
  if (!set.isInterval) return set.elements.map((text) => ({ bytes: encodeValue([set.key], text), isEnd: false }));
  const ranges = intervals(set.elements).flatMap(({ start, end }) => [
    { bytes: start, isEnd: false },
    ...(end ? [{ bytes: end, isEnd: true }] : []),
  ]);
  const startsAtZero = ranges[0]?.bytes.every((byte) => byte === 0);
  return startsAtZero ? ranges : [{ bytes: new Uint8Array(typeLength([set.key])), isEnd: true }, ...ranges];
}
