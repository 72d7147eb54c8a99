// What netfilter's subsystems (nf_tables, conntrack, acct) share: message types, the header that names the family, and
// transactions. In: steps, each with its words for an error. Out: one datagram, and its outcome.
//
//   nfgenmsg   0 family | 1 version 0 | 2..3 resource id, big endian

import type { Family } from '../../lib/ip.ts';
import { KernelError } from '../error.ts';
import { MessageWriter } from './attributes.ts';
import { type Answer, NLM_F_ACK, NLM_F_REQUEST } from './message.ts';
import { describeAnswer, type NetlinkSocket } from './socket.ts';

export const SUBSYSTEM = { conntrack: 1, acct: 7, nftables: 10 } as const;
export type Subsystem = keyof typeof SUBSYSTEM;

/** NFPROTO_*; `unspecified` where a request is about all families. */
export const NFPROTO: Readonly<Record<Family | 'unspecified', number>> = { unspecified: 0, IPv4: 2, IPv6: 10 };

const NFNL_MSG_BATCH_BEGIN = 0x10;
const NFNL_MSG_BATCH_END = 0x11;
export const NFGENMSG_LENGTH = 4;

/** One message of a transaction. */
export interface Step {
  readonly message: number;
  readonly flags: number;
  readonly family: number;
  write(writer: MessageWriter): unknown;
  /** `add element service-ips 10.96.0.10 . udp . 53`: only asked for when the kernel refuses the step, with the byte of the
   *  message where it stumbled if it said so. */
  describe(offset?: number): string;
}

export function messageType(subsystem: Subsystem, message: number): number {
  return (SUBSYSTEM[subsystem] << 8) | message;
}

/** One message outside a transaction. */
export function encodeRequest(
  subsystem: Subsystem,
  { message, flags, family }: Pick<Step, 'message' | 'flags' | 'family'>,
  sequence: number,
  write: (writer: MessageWriter) => void = () => {},
): Uint8Array {
  const writer = new MessageWriter();
  writer.beginMessage(messageType(subsystem, message), flags | NLM_F_REQUEST, sequence);
  writer.raw(family, 0, 0, 0);
  write(writer);
  writer.endMessage();
  return writer.written();
}

/** The datagram of a transaction. Its first message has the sequence number `sequence`, each later one the next.
 *  Only the last step asks for an acknowledgement: a hundred thousand of them would not fit the receive buffer. */
export function encodeBatch(
  subsystem: Subsystem,
  steps: readonly Step[],
  sequence: number,
  isDryRun = false,
): Uint8Array {
  const writer = new MessageWriter(Math.max(1024, 128 * steps.length));
  const id = SUBSYSTEM[subsystem];
  let next = sequence;
  writer.beginMessage(NFNL_MSG_BATCH_BEGIN, NLM_F_REQUEST, next++);
  writer.raw(0, 0, 0, id);
  writer.endMessage();
  for (const [i, step] of steps.entries()) {
    const acknowledge = i === steps.length - 1 ? NLM_F_ACK : 0;
    writer.beginMessage((id << 8) | step.message, step.flags | NLM_F_REQUEST | acknowledge, next++);
    writer.raw(step.family, 0, 0, 0);
    step.write(writer);
    writer.endMessage();
  }
  // Without its end the kernel checks a transaction and then forgets it.
  if (!isDryRun) {
    writer.beginMessage(NFNL_MSG_BATCH_END, NLM_F_REQUEST, next);
    writer.raw(0, 0, 0, id);
    writer.endMessage();
  }
  return writer.written();
}

/** Sends a transaction. It happens whole or not at all; a refusal names the first step that the kernel stumbled over. */
export async function commitBatch(
  socket: NetlinkSocket,
  subsystem: Subsystem,
  steps: readonly Step[],
  operation: string,
  isDryRun = false,
): Promise<void> {
  if (steps.length === 0) return;
  await socket.exclusive(async () => {
    const first = socket.takeSequence(steps.length + 2);
    const batch = encodeBatch(subsystem, steps, first, isDryRun);
    const answers = await socket.answers(batch, first, first + steps.length + 1, operation);
    const refusal = answers.find((answer) => answer.errno !== '');
    if (refusal) throw refusedStep(refusal, steps, first, operation);
    if (answers.length === 0) {
      throw new KernelError('KERNEL_UNREACHABLE', {
        operation,
        detail: 'the kernel did not acknowledge the transaction',
      });
    }
  });
}

/** Errors of the first message are about the transaction as a whole, such as a commit that failed after all checks. */
function refusedStep(answer: Answer, steps: readonly Step[], first: number, operation: string): KernelError {
  const index = answer.sequence - first - 1;
  const step = steps[index];
  const where = step
    ? `change ${index + 1} of ${steps.length} (${step.describe(answer.offset)})`
    : `all ${steps.length} changes`;
  return new KernelError('KERNEL_REFUSED', {
    operation,
    errno: answer.errno,
    detail: `${where} ${describeAnswer(answer)}`,
  });
}
