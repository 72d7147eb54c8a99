// Multicast events. In: groups to join. Out: each message, or 'overrun' when the kernel had to drop some because nobody
// read them in time: what the listener knows is then in doubt. Node.js cannot wait on a netlink descriptor without giving
// a whole thread to it, so the socket is looked into every now and then; an empty look costs a microsecond.
import { SystemCallError } from './libc.ts';
import type { Message } from './message.ts';
import { type NetlinkProtocol, NetlinkSocket } from './socket.ts';

const LOOK_EVERY_MS = 100;
const RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024;

export type SubscriptionEvent =
  | { readonly kind: 'messages'; readonly messages: readonly Message[] }
  | { readonly kind: 'overrun' };

export class Subscription {
  readonly #socket: NetlinkSocket;
  readonly #timer: NodeJS.Timeout;
  #isDeaf = false;
  readonly #listener: (event: SubscriptionEvent) => void;

  constructor(
    protocol: NetlinkProtocol,
    groups: readonly number[],
    listener: (event: SubscriptionEvent) => void,
    receiveBufferBytes = RECEIVE_BUFFER_BYTES,
  ) {
    this.#socket = new NetlinkSocket(protocol, groups);
    this.#socket.setReceiveBuffer(receiveBufferBytes);
    this.#listener = listener;
    this.#timer = setInterval(() => {
      if (!this.#isDeaf) this.look();
    }, LOOK_EVERY_MS);
    this.#timer.unref();
  }

  /** Reports what has come so far, without waiting for the next regular look. */
  look(): void {
    for (let event = this.#next(); event; event = this.#next()) this.#listener(event);
  }

  /** Does not listen while `work` goes on: what came before it is reported, what comes meanwhile never is. */
  async deaf<T>(work: () => Promise<T>): Promise<T> {
    this.look();
    this.#isDeaf = true;
    try {
      return await work();
    } finally {
      while (this.#next());
      this.#isDeaf = false;
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#socket.close();
  }

  #next(): SubscriptionEvent | undefined {
    try {
      const messages = this.#socket.receive();
      return messages && { kind: 'messages', messages };
    } catch (error) {
      if (error instanceof SystemCallError && error.errno === 'ENOBUFS') return { kind: 'overrun' };
      throw error;
    }
  }
}
