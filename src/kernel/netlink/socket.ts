// One netlink socket. In: encoded messages. Out: the kernel's messages, answers and errors. It owns the descriptor.
// Requests of one socket run one after the other: answers carry a sequence number, but a dump that is not read to its end
// would leave the next request waiting behind it.
import { KernelError } from '../error.ts';
import {
  bindNetlink,
  closeDescriptor,
  openNetlink,
  receiveInto,
  SystemCallError,
  sendAside,
  sendNow,
  setOption,
} from './libc.ts';
import {
  type Answer,
  decodeMessages,
  type Message,
  NLM_F_DUMP_INTR,
  NLMSG_DONE,
  NLMSG_ERROR,
  readAnswer,
} from './message.ts';

const PROTOCOL = { route: 0, netfilter: 12, generic: 16 } as const;
export type NetlinkProtocol = keyof typeof PROTOCOL;

const SOL_SOCKET = 1;
const SO_SNDBUF = 7;
const SO_RCVBUF = 8;
const SO_SNDBUFFORCE = 32;
const SO_RCVBUFFORCE = 33;
const SOL_NETLINK = 270;
const NETLINK_ADD_MEMBERSHIP = 1;
const NETLINK_CAP_ACK = 10; // errors do not repeat the request, which may have megabytes
const NETLINK_EXT_ACK = 11; // errors say in words what is wrong
const NETLINK_GET_STRICT_CHK = 12; // dumps honour their filters

// A dump's datagrams have at most 32 KiB.
const RECEIVE_BYTES = 256 * 1024;
// Below this the kernel is done in a millisecond or so; above, another thread waits for it.
const SEND_ASIDE_BYTES = 64 * 1024;
const DUMP_ATTEMPTS = 5;

/** A dump was interrupted by a change to what it lists: it may lack entries or show some twice. */
export class DumpInterrupted extends Error {
  constructor() {
    super('what was being listed changed meanwhile');
    this.name = 'DumpInterrupted';
  }
}

export class NetlinkSocket {
  readonly portId: number;
  readonly #fd: number;
  readonly #buffer = new Uint8Array(RECEIVE_BYTES);
  #sequence = 0;
  #isClosed = false;
  #sendBufferBytes = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(protocol: NetlinkProtocol, groups: readonly number[] = []) {
    this.#fd = opening(`open a ${protocol} netlink socket`, () => openNetlink(PROTOCOL[protocol]));
    this.portId = opening('bind a netlink socket', () => bindNetlink(this.#fd));
    this.#try(SOL_NETLINK, NETLINK_CAP_ACK, 1);
    this.#try(SOL_NETLINK, NETLINK_EXT_ACK, 1);
    this.#try(SOL_NETLINK, NETLINK_GET_STRICT_CHK, 1);
    for (const group of groups) {
      opening(`join netlink group ${group}`, () => setOption(this.#fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, group));
    }
  }

  /** The next free sequence number; `count` of them in a row are the caller's. */
  takeSequence(count = 1): number {
    const first = this.#sequence + 1;
    this.#sequence += count;
    return first;
  }

  /** Runs a request when those before it are done. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work, work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Sends one datagram. A big one is sent from another thread, as the kernel may take long over it. */
  async send(data: Uint8Array): Promise<void> {
    this.#makeRoomFor(data.length);
    this.#drain();
    if (data.length < SEND_ASIDE_BYTES) sendNow(this.#fd, data);
    else await sendAside(this.#fd, data);
  }

  /** The messages that wait, one datagram at a time; undefined when there is none. Valid until the next call. */
  receive(): Message[] | undefined {
    const length = receiveInto(this.#fd, this.#buffer);
    return length === undefined ? undefined : decodeMessages(this.#buffer.subarray(0, length));
  }

  /** One request that is answered at once: the replies before its acknowledgement. It must ask for one (NLM_F_ACK). */
  request(data: Uint8Array, sequence: number, operation: string): Promise<Message[]> {
    return this.exclusive(async () => {
      await sending(operation, () => this.send(data));
      const replies: Message[] = [];
      for (let messages = this.receive(); messages; messages = this.receive()) {
        for (const message of messages) {
          if (message.sequence !== sequence) continue;
          if (message.type !== NLMSG_ERROR) replies.push({ ...message, body: message.body.slice() });
          else return answered(readAnswer(message), operation, replies);
        }
      }
      throw new KernelError('KERNEL_UNREACHABLE', { operation, detail: 'the kernel gave no answer' });
    });
  }

  /** Sends one datagram of several messages, numbered from `first` to `last`, and returns every answer to them. */
  async answers(data: Uint8Array, first: number, last: number, operation: string): Promise<Answer[]> {
    await sending(operation, () => this.send(data));
    const answers: Answer[] = [];
    const next = (): Message[] | undefined => receiving(operation, () => this.receive());
    for (let messages = next(); messages; messages = next()) {
      for (const message of messages) {
        const isOurs = message.type === NLMSG_ERROR && message.sequence >= first && message.sequence <= last;
        if (isOurs) answers.push(readAnswer(message));
      }
    }
    return answers;
  }

  /** Lists something, datagram by datagram, with the event loop running between them. The messages' bodies are only valid
   *  until the next step. Throws DumpInterrupted at the end if the list changed meanwhile. */
  async *dump(data: Uint8Array, sequence: number, operation: string): AsyncGenerator<Message[]> {
    await sending(operation, () => this.send(data));
    let isInterrupted = false;
    for (;;) {
      const messages = receiving(operation, () => this.receive());
      if (!messages) throw new KernelError('KERNEL_UNREACHABLE', { operation, detail: 'the list ended early' });
      const ours = messages.filter((message) => message.sequence === sequence);
      isInterrupted ||= ours.some((message) => (message.flags & NLM_F_DUMP_INTR) !== 0);
      const end = ours.find((message) => message.type === NLMSG_DONE || message.type === NLMSG_ERROR);
      yield ours.filter((message) => message !== end);
      if (end) {
        answered(readAnswer(end), operation, undefined);
        if (isInterrupted) throw new DumpInterrupted();
        return;
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** A whole list, each message turned into a value at once; asked again if it changed meanwhile. */
  list<T>(
    encode: (sequence: number) => Uint8Array,
    operation: string,
    read: (message: Message) => T | undefined,
  ): Promise<T[]> {
    return this.exclusive(async () => {
      for (let attempt = 1; ; attempt++) {
        const values: T[] = [];
        const sequence = this.takeSequence();
        try {
          for await (const messages of this.dump(encode(sequence), sequence, operation)) {
            for (const message of messages) {
              const value = read(message);
              if (value !== undefined) values.push(value);
            }
          }
          return values;
        } catch (error) {
          if (!(error instanceof DumpInterrupted) || attempt === DUMP_ATTEMPTS) throw error;
        }
      }
    });
  }

  /** Room for messages that wait to be received; more needs CAP_NET_ADMIN over the first user namespace. */
  setReceiveBuffer(bytes: number): void {
    if (!this.#try(SOL_SOCKET, SO_RCVBUFFORCE, bytes)) this.#try(SOL_SOCKET, SO_RCVBUF, bytes);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    closeDescriptor(this.#fd);
  }

  /** A datagram must fit the send buffer whole. The plain option is capped by net.core.wmem_max, the other needs the right. */
  #makeRoomFor(bytes: number): void {
    if (bytes <= this.#sendBufferBytes) return;
    const wanted = Math.max(2 * bytes, 256 * 1024);
    if (!this.#try(SOL_SOCKET, SO_SNDBUFFORCE, wanted)) this.#try(SOL_SOCKET, SO_SNDBUF, wanted);
    this.#sendBufferBytes = wanted;
  }

  /** Throws away what an abandoned request left behind. */
  #drain(): void {
    while (receiving('drain a netlink socket', () => this.receive()));
  }

  #try(level: number, name: number, value: number): boolean {
    try {
      setOption(this.#fd, level, name, value);
      return true;
    } catch (error) {
      if (error instanceof SystemCallError) return false;
      throw error;
    }
  }
}

function answered<T>(answer: Answer, operation: string, value: T): T {
  if (answer.errno === '') return value;
  throw new KernelError('KERNEL_REFUSED', { operation, errno: answer.errno, detail: describeAnswer(answer) });
}

/** `refused`, with the kernel's own words where it has some. */
export function describeAnswer({ text, offset }: Answer): string {
  return `refused${text ? `, ${text}` : ''}${offset === undefined ? '' : ` (at byte ${offset} of the message)`}`;
}

function opening<T>(operation: string, work: () => T): T {
  return guarded('KERNEL_UNREACHABLE', operation, 'the system call failed', work);
}

function receiving<T>(operation: string, work: () => T): T {
  return guarded('KERNEL_UNREACHABLE', operation, 'receiving the answer failed', work);
}

function guarded<T>(code: 'KERNEL_UNREACHABLE', operation: string, detail: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof SystemCallError)) throw error;
    throw new KernelError(code, { operation, errno: error.errno, detail, cause: error });
  }
}

/** Turns a failed send into a KernelError; the kernel has then done nothing. */
async function sending(operation: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof SystemCallError)) throw error;
    throw new KernelError('KERNEL_REFUSED', { operation, errno: error.errno, detail: 'sending failed', cause: error });
  }
}
