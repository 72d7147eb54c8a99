// The bytes that nft keeps beside tables, chains, rules, sets and elements for itself: comments, and how to print a set's
// types. The kernel stores at most 256 of them and never looks inside.
//
//   0      1        2
//   | type | length | bytes ...     again and again; numbers are in host order
import { isAscii, type MessageWriter } from './netlink/attributes.ts';
import type { NftSet, NftTypeof } from './nftables-objects.ts';
import { byteOrder, valueTypes } from './nftables-values.ts';

const COMMENT = 0; // of tables, chains, rules and elements
const SET_KEY_BYTEORDER = 0;
const SET_DATA_BYTEORDER = 1;
const SET_KEY_TYPEOF = 3;
const SET_DATA_TYPEOF = 4;
const SET_DATA_INTERVAL = 6;
const SET_COMMENT = 7;

const MAX_COMMENT_BYTES = 253;

// nft's own numbers for kinds of expressions (enum expr_types), headers (enum proto_desc_id) and their fields.
const EXPR_PAYLOAD = 7;
const EXPR_CONCAT = 13;
const EXPR_NUMGEN = 23;
const TYPEOF_EXPR = 0;
const TYPEOF_DATA = 1;
const PAYLOADS: Readonly<
  Record<Exclude<NftTypeof, 'numgen random mod 65536'>, readonly [header: number, field: number]>
> = {
  'ip daddr': [12, 12],
  'ip6 daddr': [13, 9],
  'tcp dport': [8, 2],
  'udp dport': [6, 2],
  'sctp dport': [10, 2],
};
const NUMGEN_RANDOM = 1;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function commentUserdata(comment: string): Uint8Array {
  return entry(COMMENT, text(comment));
}

/** The same, written in place: every row has one. */
export function writeComment(writer: MessageWriter, type: number, comment: string): void {
  if (comment.length > MAX_COMMENT_BYTES || !isAscii(comment)) {
    writer.bytes(type, commentUserdata(comment));
    return;
  }
  const at = writer.room(type, comment.length + 3);
  const { buffer } = writer;
  buffer[at] = COMMENT;
  buffer[at + 1] = comment.length + 1;
  for (let i = 0; i < comment.length; i++) buffer[at + 2 + i] = comment.charCodeAt(i);
}

/** The comment in the userdata of anything but a set. */
export function readComment(userdata: Uint8Array | undefined, type = COMMENT): string | undefined {
  if (!userdata) return undefined;
  for (let at = 0; at + 2 <= userdata.length; at += 2 + userdata[at + 1]!) {
    if (userdata[at] !== type) continue;
    const bytes = userdata.subarray(at + 2, at + 2 + userdata[at + 1]!);
    return decoder.decode(bytes.at(-1) === 0 ? bytes.subarray(0, -1) : bytes);
  }
  return undefined;
}

export function readSetComment(userdata: Uint8Array | undefined): string | undefined {
  return readComment(userdata, SET_COMMENT);
}

/** What nft writes for the same set. */
export function setUserdata(set: NftSet): Uint8Array {
  const parts = [entry(SET_KEY_BYTEORDER, number(byteOrder(set.key)))];
  if (set.value)
    parts.push(entry(SET_DATA_BYTEORDER, number(set.value === 'verdict' ? 0 : byteOrder(valueTypes(set)))));
  const keyTypeof = typeofEntry(SET_KEY_TYPEOF, set.typeof?.key, set.key.length);
  if (keyTypeof) parts.push(keyTypeof);
  const valueTypeof = typeofEntry(SET_DATA_TYPEOF, set.typeof?.value, valueTypes(set).length);
  if (valueTypeof) parts.push(valueTypeof);
  if (set.value) parts.push(entry(SET_DATA_INTERVAL, number(0)));
  if (set.comment) parts.push(entry(SET_COMMENT, text(set.comment)));
  return Buffer.concat(parts);
}

/** nft notes a concatenation of plain types too, as one without parts. */
function typeofEntry(
  type: number,
  expressions: readonly NftTypeof[] | undefined,
  parts: number,
): Uint8Array | undefined {
  if (!expressions && parts < 2) return undefined;
  return entry(type, expressions ? typeofExpression(expressions) : expression(EXPR_CONCAT, new Uint8Array()));
}

function typeofExpression(expressions: readonly NftTypeof[]): Uint8Array {
  const parts = expressions.map(typeofPart);
  if (parts.length === 1) return parts[0]!;
  const list = Buffer.concat(parts.map((part, i) => entry(i, part)));
  return expression(EXPR_CONCAT, list);
}

function typeofPart(part: NftTypeof): Uint8Array {
  if (part === 'numgen random mod 65536') return expression(EXPR_NUMGEN, numbers(NUMGEN_RANDOM, 65536, 0));
  return expression(EXPR_PAYLOAD, numbers(...PAYLOADS[part]));
}

function expression(kind: number, data: Uint8Array): Uint8Array {
  return Buffer.concat([entry(TYPEOF_EXPR, number(kind)), entry(TYPEOF_DATA, data)]);
}

function numbers(...values: readonly number[]): Uint8Array {
  return Buffer.concat(values.map((value, i) => entry(i, number(value))));
}

function number(value: number): Uint8Array {
  return new Uint8Array(Uint32Array.of(value).buffer);
}

/** Ends with NUL. What is too long ends in an ellipsis instead of being refused by the kernel. */
function text(comment: string): Uint8Array {
  const bytes = encoder.encode(`${comment}\0`);
  if (bytes.length <= MAX_COMMENT_BYTES + 1) return bytes;
  return encoder.encode(`${comment.slice(0, MAX_COMMENT_BYTES - 3)}...\0`);
}

function entry(type: number, bytes: Uint8Array): Uint8Array {
  const out = new Uint8Array(2 + bytes.length);
  out[0] = type;
  out[1] = bytes.length;
  out.set(bytes, 2);
  return out;
}
