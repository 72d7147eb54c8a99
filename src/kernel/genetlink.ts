// Generic netlink: subsystems that have a name instead of a number. In: a name. Out: the number this kernel gave it.
//
//   genlmsghdr   0 command | 1 version | 2..3 reserved
import { KernelError } from './error.ts';
import { type MessageWriter, readAttributes } from './netlink/attributes.ts';
import { NLM_F_ACK } from './netlink/message.ts';
import type { NetlinkSocket } from './netlink/socket.ts';
import { encodeQuery } from './netlink/steps.ts';

const GENL_ID_CTRL = 0x10;
const CTRL_CMD_GETFAMILY = 3;
const CTRL_ATTR_FAMILY_ID = 1;
const CTRL_ATTR_FAMILY_NAME = 2;
export const GENL_HEADER_LENGTH = 4;

/** Undefined if this kernel does not have it. Where it is a module, asking loads it. */
export async function genericFamily(socket: NetlinkSocket, name: string): Promise<number | undefined> {
  const sequence = socket.takeSequence();
  try {
    const [reply] = await socket.request(familyRequest(name, sequence), sequence, `genetlink.getfamily ${name}`);
    const id = reply && readAttributes(reply.body, GENL_HEADER_LENGTH).get(CTRL_ATTR_FAMILY_ID);
    return id && u16Host(id);
  } catch (error) {
    if (error instanceof KernelError && error.errno === 'ENOENT') return undefined;
    throw error;
  }
}

export function familyRequest(name: string, sequence: number): Uint8Array {
  return encodeQuery(GENL_ID_CTRL, NLM_F_ACK, sequence, (writer) => {
    writer.raw(CTRL_CMD_GETFAMILY, 1, 0, 0);
    writer.text(CTRL_ATTR_FAMILY_NAME, name);
  });
}

/** Numbers of generic netlink are in host order. */
export function u16Host(payload: Uint8Array): number {
  return payload[0]! | (payload[1]! << 8);
}

export function writeU16Host(writer: MessageWriter, type: number, value: number): void {
  writer.bytes(type, Uint8Array.of(value & 0xff, value >> 8));
}
