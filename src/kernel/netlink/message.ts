// Netlink messages. In: what a request says. Out: the bytes a socket sends, and back. Nothing here touches the machine.
//
//   0        4      6      8        12       16
//   | length | type | flags | sequence | port | body, padded to 4 ...
//
// The header is in host order: little endian on the machines Portolan is made for (x86-64, arm64).
import { getSystemErrorName } from 'node:util';
import { type Attributes, readAttributes, textOf, u32Host } from './attributes.ts';

export const NLM_F_REQUEST = 0x01;
export const NLM_F_ACK = 0x04;
export const NLM_F_DUMP_INTR = 0x10;
export const NLM_F_DUMP = 0x300;
export const NLM_F_EXCL = 0x200;
export const NLM_F_CREATE = 0x400;
export const NLM_F_APPEND = 0x800;
const NLM_F_CAPPED = 0x100; // in an error: the request is not repeated after its header
const NLM_F_ACK_TLVS = 0x200; // in an error: attributes follow

export const NLMSG_ERROR = 2;
export const NLMSG_DONE = 3;

const NLMSGERR_ATTR_MSG = 1;
const NLMSGERR_ATTR_OFFS = 2;

export const HEADER_LENGTH = 16;

export interface Message {
  readonly type: number;
  readonly flags: number;
  readonly sequence: number;
  /** Port of the socket whose request caused this message; 0 is the kernel. */
  readonly portId: number;
  readonly body: Uint8Array;
}

/** The kernel's answer to one request of ours. `errno` is '' for a plain acknowledgement. */
export interface Answer {
  readonly sequence: number;
  readonly errno: string;
  /** The kernel's own words, where it has some. */
  readonly text: string | undefined;
  /** Where in the request the kernel stumbled, in bytes from its header. */
  readonly offset: number | undefined;
}

export function encodeMessage(message: Message): Uint8Array {
  const bytes = new Uint8Array(HEADER_LENGTH + align(message.body.length));
  const view = new DataView(bytes.buffer);
  view.setUint32(0, HEADER_LENGTH + message.body.length, true);
  view.setUint16(4, message.type, true);
  view.setUint16(6, message.flags, true);
  view.setUint32(8, message.sequence, true);
  view.setUint32(12, message.portId, true);
  bytes.set(message.body, HEADER_LENGTH);
  return bytes;
}

/** Every message of one datagram. The bodies are views of `datagram`, not copies. */
export function decodeMessages(datagram: Uint8Array): Message[] {
  const view = new DataView(datagram.buffer, datagram.byteOffset, datagram.byteLength);
  const messages: Message[] = [];
  for (let at = 0; at + HEADER_LENGTH <= datagram.length; ) {
    const length = view.getUint32(at, true);
    if (length < HEADER_LENGTH || at + length > datagram.length) {
      throw new Error(`a netlink message claims ${length} bytes where ${datagram.length - at} are left`);
    }
    messages.push({
      type: view.getUint16(at + 4, true),
      flags: view.getUint16(at + 6, true),
      sequence: view.getUint32(at + 8, true),
      portId: view.getUint32(at + 12, true),
      body: datagram.subarray(at + HEADER_LENGTH, at + length),
    });
    at += align(length);
  }
  return messages;
}

/** Reads NLMSG_ERROR, and NLMSG_DONE, which carries the error that ended a dump. */
export function readAnswer(message: Message): Answer {
  const { body, flags, sequence } = message;
  const code = body.length >= 4 ? new DataView(body.buffer, body.byteOffset).getInt32(0, true) : 0;
  const errno = code === 0 ? '' : errnoName(-code);
  if (!(flags & NLM_F_ACK_TLVS)) return { sequence, errno, text: undefined, offset: undefined };
  const attributes = readAttributes(body, extendedAckOffset(message));
  return { sequence, errno, text: extendedText(attributes), offset: extendedOffset(attributes) };
}

/** The attributes follow the code in NLMSG_DONE, and code and request header, perhaps with the request's body, in NLMSG_ERROR. */
function extendedAckOffset({ type, flags, body }: Message): number {
  if (type === NLMSG_DONE) return 4;
  if (flags & NLM_F_CAPPED) return 4 + HEADER_LENGTH;
  return 4 + align(new DataView(body.buffer, body.byteOffset).getUint32(4, true));
}

function extendedText(attributes: Attributes): string | undefined {
  const bytes = attributes.get(NLMSGERR_ATTR_MSG);
  return bytes && textOf(bytes);
}

function extendedOffset(attributes: Attributes): number | undefined {
  const bytes = attributes.get(NLMSGERR_ATTR_OFFS);
  return bytes && u32Host(bytes);
}

export function errnoName(errno: number): string {
  return getSystemErrorName(-errno);
}

export function align(length: number): number {
  return (length + 3) & ~3;
}
