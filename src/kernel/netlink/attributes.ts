// Netlink attributes. In: typed values. Out: their bytes, written one after the other into a buffer that grows, so that a
// batch of a hundred thousand messages is one allocation and not a million; and back from bytes to values.
//
//   0        2      4
//   | length | type | payload, padded to 4 ...     length counts itself but not the padding
//
// Lengths and types are in host order. Numbers in netfilter's attributes are big endian, in those of routes host order.

const NLA_F_NESTED = 0x8000;
const NLA_TYPE_MASK = 0x3fff;
export const NLA_HDRLEN = 4;
const MAX_ATTRIBUTE = 0xffff;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What a message carries, by attribute type. Where a type comes twice the last one counts; lists are read with `readList`. */
export type Attributes = ReadonlyMap<number, Uint8Array>;

/** Writes messages and attributes into one growing buffer. */
export class MessageWriter {
  #bytes: Uint8Array;
  #view: DataView;
  #length = 0;
  readonly #open: number[] = [];
  #message = -1;

  constructor(capacity = 512) {
    this.#bytes = new Uint8Array(capacity);
    this.#view = new DataView(this.#bytes.buffer);
  }

  get length(): number {
    return this.#length;
  }

  /** What was written so far; valid until the next write. */
  written(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  beginMessage(type: number, flags: number, sequence: number, portId = 0): void {
    this.#message = this.#take(16);
    this.#view.setUint16(this.#message + 4, type, true);
    this.#view.setUint16(this.#message + 6, flags, true);
    this.#view.setUint32(this.#message + 8, sequence, true);
    this.#view.setUint32(this.#message + 12, portId, true);
  }

  endMessage(): void {
    this.#view.setUint32(this.#message, this.#length - this.#message, true);
    this.#message = -1;
  }

  /** Bytes that are no attribute, such as the family header that follows a message's own. */
  raw(...bytes: readonly number[]): void {
    const at = this.#take(bytes.length);
    this.#bytes.set(bytes, at);
  }

  bytes(type: number, payload: Uint8Array): void {
    const at = this.#attribute(type, payload.length);
    this.#bytes.set(payload, at);
  }

  flag(type: number): void {
    this.#attribute(type, 0);
  }

  u8(type: number, value: number): void {
    const at = this.#attribute(type, 1);
    this.#view.setUint8(at, value);
  }

  u16(type: number, value: number): void {
    const at = this.#attribute(type, 2);
    this.#view.setUint16(at, value);
  }

  u32(type: number, value: number): void {
    const at = this.#attribute(type, 4);
    this.#view.setUint32(at, value >>> 0);
  }

  u32Host(type: number, value: number): void {
    const at = this.#attribute(type, 4);
    this.#view.setUint32(at, value >>> 0, true);
  }

  u64(type: number, value: bigint): void {
    const at = this.#attribute(type, 8);
    this.#view.setBigUint64(at, value);
  }

  /** Text with the NUL at its end that the kernel expects. */
  text(type: number, value: string): void {
    if (!isAscii(value)) {
      this.bytes(type, encoder.encode(`${value}\0`));
      return;
    }
    const at = this.#attribute(type, value.length + 1);
    for (let i = 0; i < value.length; i++) this.#bytes[at + i] = value.charCodeAt(i);
  }

  /** An attribute of so many zeros, for the caller to fill: where they begin in `buffer`. */
  room(type: number, length: number): number {
    return this.#attribute(type, length);
  }

  /** What `room` points into; until the next write. */
  get buffer(): Uint8Array {
    return this.#bytes;
  }

  nest(type: number, write: () => void): void {
    this.begin(type);
    write();
    this.end();
  }

  begin(type: number): void {
    const at = this.#take(NLA_HDRLEN);
    this.#view.setUint16(at + 2, type | NLA_F_NESTED, true);
    this.#open.push(at);
  }

  end(): void {
    const at = this.#open.pop()!;
    const length = this.#length - at;
    if (length > MAX_ATTRIBUTE) throw new Error(`a nested attribute has ${length} bytes, more than ${MAX_ATTRIBUTE}`);
    this.#view.setUint16(at, length, true);
  }

  #attribute(type: number, payloadLength: number): number {
    const at = this.#take(NLA_HDRLEN + payloadLength);
    this.#view.setUint16(at, NLA_HDRLEN + payloadLength, true);
    this.#view.setUint16(at + 2, type, true);
    return at + NLA_HDRLEN;
  }

  /** Room for so many bytes and their padding, which is zero because the buffer is never written twice. It may replace the
   *  buffer, so callers name the buffer after this call, not before. */
  #take(size: number): number {
    const at = this.#length;
    this.#length += (size + 3) & ~3;
    if (this.#length > this.#bytes.length) this.#grow();
    return at;
  }

  #grow(): void {
    const bytes = new Uint8Array(Math.max(this.#length, 2 * this.#bytes.length));
    bytes.set(this.#bytes);
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
  }
}

/** Nearly all text is; it is then written without the help of an encoder, of which each call costs more than the text. */
export function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 126) return false;
  return true;
}

/** The attributes from `offset` on; their payloads are views of `bytes`. */
export function readAttributes(bytes: Uint8Array, offset = 0): Attributes {
  const attributes = new Map<number, Uint8Array>();
  for (const [type, payload] of readList(bytes, offset)) attributes.set(type, payload);
  return attributes;
}

/** The attributes in order, for nests that hold several of one type. */
export function readList(bytes: Uint8Array, offset = 0): [type: number, payload: Uint8Array][] {
  const list: [number, Uint8Array][] = [];
  eachAttribute(bytes, offset, bytes.length, (type, start, end) => {
    list.push([type, bytes.subarray(start, end)]);
  });
  return list;
}

/** Shows each attribute between two places as the place of its payload: for long lists, where a view of each would cost too much. */
export function eachAttribute(
  bytes: Uint8Array,
  from: number,
  to: number,
  visit: (type: number, start: number, end: number) => void,
): void {
  for (let at = from; at + NLA_HDRLEN <= to; ) {
    const length = bytes[at]! | (bytes[at + 1]! << 8);
    if (length < NLA_HDRLEN || at + length > to) {
      throw new Error(`an attribute claims ${length} bytes where ${to - at} are left`);
    }
    visit((bytes[at + 2]! | (bytes[at + 3]! << 8)) & NLA_TYPE_MASK, at + NLA_HDRLEN, at + length);
    at += (length + 3) & ~3;
  }
}

export function nested(attributes: Attributes, type: number): Attributes | undefined {
  const payload = attributes.get(type);
  return payload && readAttributes(payload);
}

/** The text of a payload, without the NUL at its end. */
export function textOf(payload: Uint8Array): string {
  let text = '';
  for (const byte of payload) {
    if (byte === 0) return text;
    if (byte > 126) break;
    text += String.fromCharCode(byte);
  }
  const end = payload.indexOf(0);
  return decoder.decode(end < 0 ? payload : payload.subarray(0, end));
}

export function u16(payload: Uint8Array): number {
  return (payload[0]! << 8) | payload[1]!;
}

export function u32(payload: Uint8Array): number {
  return viewOf(payload).getUint32(0);
}

export function u32Host(payload: Uint8Array): number {
  return viewOf(payload).getUint32(0, true);
}

export function u64(payload: Uint8Array): bigint {
  return viewOf(payload).getBigUint64(0);
}

export function u64Host(payload: Uint8Array): bigint {
  return viewOf(payload).getBigUint64(0, true);
}

function viewOf(payload: Uint8Array): DataView {
  return new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
}
