// Requests that are no transaction, sent many to a datagram: each is done or refused by itself. In: requests, each with its
// words for an error and the refusals it can live with. Out: nothing, or an error that names the first that was refused.
import { KernelError } from '../error.ts';
import { MessageWriter } from './attributes.ts';
import { NLM_F_ACK, NLM_F_REQUEST } from './message.ts';
import { describeAnswer, type NetlinkSocket } from './socket.ts';

export interface NetlinkStep {
  readonly type: number;
  readonly flags: number;
  /** Family header and attributes. */
  write(writer: MessageWriter): void;
  /** `add real server 10.244.1.11:8080 to 10.96.0.10:53/UDP`: asked for only when the kernel refuses. */
  describe(): string;
  /** Names of errors that mean the work is done already, such as EEXIST. */
  readonly tolerates?: readonly string[];
}

// Small enough to be handled at once, large enough that a system call serves hundreds of requests.
const DATAGRAM_BYTES = 32 * 1024;

/** Sends all of them, also those after one that was refused. */
export async function sendSteps(
  socket: NetlinkSocket,
  steps: readonly NetlinkStep[],
  operation: string,
): Promise<void> {
  const refusals: string[] = [];
  let errno = '';
  await socket.exclusive(async () => {
    for (let from = 0; from < steps.length; ) {
      const first = socket.takeSequence();
      const { bytes, count } = encodeSteps(steps, from, first);
      socket.takeSequence(count - 1);
      const answers = await socket.answers(bytes, first, first + count - 1, operation);
      if (answers.length === 0) throw unanswered(operation);
      for (const answer of answers) {
        const step = steps[from + answer.sequence - first]!;
        if (answer.errno === '' || step.tolerates?.includes(answer.errno)) continue;
        errno ||= answer.errno;
        refusals.push(`${step.describe()} ${describeAnswer(answer)}`);
      }
      from += count;
    }
  });
  if (refusals.length > 0) throw refused(operation, errno, refusals, steps.length);
}

/** As many steps as fit, from one on. Only the last asks for an acknowledgement; refusals come by themselves. */
export function encodeSteps(
  steps: readonly NetlinkStep[],
  from: number,
  sequence: number,
): { readonly bytes: Uint8Array; readonly count: number } {
  const writer = new MessageWriter(2 * DATAGRAM_BYTES);
  let count = 0;
  let lastAt = 0;
  while (from + count < steps.length && writer.length < DATAGRAM_BYTES) {
    const step = steps[from + count]!;
    lastAt = writer.length;
    writer.beginMessage(step.type, step.flags | NLM_F_REQUEST, sequence + count);
    step.write(writer);
    writer.endMessage();
    count++;
  }
  const bytes = writer.written();
  bytes[lastAt + 6]! |= NLM_F_ACK; // the low byte of its flags
  return { bytes, count };
}

/** One request by itself: a question, or a dump. */
export function encodeQuery(
  type: number,
  flags: number,
  sequence: number,
  write: (writer: MessageWriter) => void,
): Uint8Array {
  const writer = new MessageWriter();
  writer.beginMessage(type, flags | NLM_F_REQUEST, sequence);
  write(writer);
  writer.endMessage();
  return writer.written();
}

function unanswered(operation: string): KernelError {
  return new KernelError('KERNEL_UNREACHABLE', { operation, detail: 'the kernel did not acknowledge the requests' });
}

function refused(operation: string, errno: string, refusals: readonly string[], of: number): KernelError {
  const others = refusals.length > 1 ? `, and ${refusals.length - 1} more of ${of}` : '';
  return new KernelError('KERNEL_REFUSED', { operation, errno, detail: `${refusals[0]}${others}` });
}
