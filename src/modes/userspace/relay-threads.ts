// Relays dealt out to threads, so that traffic has more than one CPU and does not wait while this thread plans. A relay stays in
// its thread: turns and sticky clients need no agreement between threads, and one service port has one CPU.
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { KernelError } from '../../kernel/error.ts';
import { assertNever } from '../../lib/assert.ts';
import type { EndedConnection, RelayTotals } from './connections.ts';
import type { RelayPlan } from './plan.ts';
import { allConnections, type RelayedConnections, type RelayHost } from './relay-host.ts';
import type { RelaysOptions } from './relays.ts';

/** What a thread can be told: functions stay here. */
export type ThreadOptions = Pick<RelaysOptions, 'udpIdleTimeoutMs' | 'portRange'>;

export type ThreadRequest = { readonly id: number } & (
  | { readonly kind: 'ensure'; readonly plan: RelayPlan; readonly ip: string }
  | { readonly kind: 'stop'; readonly key: string }
  | { readonly kind: 'stop-all' | 'expire' | 'connections' | 'totals' }
);

export type ThreadAnswer =
  | { readonly kind: 'done'; readonly id: number; readonly result: unknown }
  | { readonly kind: 'failed'; readonly id: number; readonly error: Error }
  | { readonly kind: 'ended'; readonly connection: EndedConnection }
  | { readonly kind: 'trouble'; readonly relay: string; readonly error: Error };

type Without<T> = T extends unknown ? Omit<T, 'id'> : never;

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** What a thread tells without being asked. */
interface Heard {
  readonly ended: (connection: EndedConnection) => void;
  readonly trouble: (relay: string, error: Error) => void;
  /** It ended by an error. */
  readonly lost: (error: Error) => void;
}

/** One thread and what is asked of it. */
class RelayThread {
  readonly keys = new Set<string>();
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  constructor(options: ThreadOptions, heard: Heard) {
    // Beside this file, and in the same language: TypeScript in the source, JavaScript in a bundle.
    const program = new URL(`./relay-thread${extname(import.meta.url)}`, import.meta.url);
    this.#worker = new Worker(program, { workerData: options });
    this.#worker.on('message', (answer: ThreadAnswer) => {
      switch (answer.kind) {
        case 'done':
          return this.#take(answer.id)?.resolve(answer.result);
        case 'failed':
          return this.#take(answer.id)?.reject(answer.error);
        case 'ended':
          return heard.ended(answer.connection);
        case 'trouble':
          return heard.trouble(answer.relay, answer.error);
        default:
          return assertNever(answer);
      }
    });
    this.#worker.on('error', (error) => {
      for (const id of [...this.#waiting.keys()]) this.#take(id)?.reject(error as Error);
      heard.lost(error as Error);
    });
  }

  ask(request: Without<ThreadRequest>): Promise<unknown> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ ...request, id });
    });
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }
}

export class RelayThreads implements RelayHost {
  readonly #threads: readonly RelayThread[];
  readonly #homes = new Map<string, { readonly thread: RelayThread; readonly port: number }>();
  readonly #endedListeners = new Set<Heard['ended']>();
  readonly #troubleListeners = new Set<Heard['trouble']>();

  /** `onLost`: a thread ended by an error of ours, and its relays with it. */
  constructor(options: ThreadOptions, count: number, onLost: (error: Error) => void) {
    const heard: Heard = {
      ended: (connection) => {
        for (const listener of this.#endedListeners) listener(connection);
      },
      trouble: (relay, error) => {
        for (const listener of this.#troubleListeners) listener(relay, error);
      },
      lost: onLost,
    };
    this.#threads = Array.from({ length: count }, () => new RelayThread(options, heard));
  }

  get size(): number {
    return this.#homes.size;
  }

  portOf(key: string): number | undefined {
    return this.#homes.get(key)?.port;
  }

  async ensure(plan: RelayPlan, ip: string): Promise<void> {
    const thread = this.#homes.get(plan.key)?.thread ?? this.#leastBusy();
    thread.keys.add(plan.key);
    try {
      const port = (await thread.ask({ kind: 'ensure', plan, ip })) as number;
      this.#homes.set(plan.key, { thread, port });
    } catch (cause) {
      if (!this.#homes.has(plan.key)) thread.keys.delete(plan.key);
      const { message: detail } = cause as Error;
      throw new KernelError('KERNEL_REFUSED', { operation: `start a relay for ${plan.key}`, detail, cause });
    }
  }

  stop(key: string): void {
    const home = this.#homes.get(key);
    if (!home) return;
    this.#homes.delete(key);
    home.thread.keys.delete(key);
    void home.thread.ask({ kind: 'stop', key });
  }

  stopAll(): void {
    for (const key of [...this.#homes.keys()]) this.stop(key);
  }

  expire(): void {
    for (const thread of this.#threads) void thread.ask({ kind: 'expire' });
  }

  async connections(): Promise<RelayedConnections> {
    return allConnections((await this.#askAll({ kind: 'connections' })) as RelayedConnections[]);
  }

  async totals(): Promise<readonly RelayTotals[]> {
    return ((await this.#askAll({ kind: 'totals' })) as RelayTotals[][]).flat();
  }

  onEnded(listener: Heard['ended']): () => void {
    this.#endedListeners.add(listener);
    return () => this.#endedListeners.delete(listener);
  }

  onTrouble(listener: Heard['trouble']): () => void {
    this.#troubleListeners.add(listener);
    return () => this.#troubleListeners.delete(listener);
  }

  /** Ends the threads, and every connection in them. */
  async end(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.end()));
  }

  #askAll(request: Without<ThreadRequest>): Promise<unknown[]> {
    return Promise.all(this.#threads.map((thread) => thread.ask(request)));
  }

  #leastBusy(): RelayThread {
    return this.#threads.reduce((a, b) => (b.keys.size < a.keys.size ? b : a));
  }
}
