// Keeps a handler up to date with one kind of object: reads everything once, follows the changes, and finds its way back
// after whatever the server, a proxy or the network does. Holds no objects itself: each one is cut down by `parse` as it
// arrives and given away. What happens after a failure is decided in watch-decision.ts.
import { type Clock, systemClock } from '../lib/clock.ts';
import { contentError } from './client/answer.ts';
import { streamOf } from './client/body.ts';
import type { ApiClient } from './client/client.ts';
import { ApiError } from './client/error.ts';
import { LineSplitter } from './client/lines.ts';
import { type ApiLog, silentLog } from './client/log.ts';
import { asked } from './client/request.ts';
import { Backoff } from './watch-backoff.ts';
import { type Decision, decide, type Outcome, type Position, START } from './watch-decision.ts';
import { decodeEvent, isOlder, objectKey, type WatchEvent } from './watch-event.ts';
import { collect, type Parse, readList } from './watch-list.ts';

export interface WatchTarget<T> {
  /** `services`, for the log. */
  readonly resource: string;
  /** `/api/v1/services` */
  readonly path: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Undefined: of no interest, as if the object did not exist. */
  readonly parse: Parse<T>;
}

/** The consumer's store. Calls come in the order of the server's history. */
export interface WatchHandler<T> {
  /** All there is, as of this version. Objects held before and not in here are gone. */
  replace(items: Map<string, T>, version: string): void;
  upsert(key: string, value: T): void;
  /** May name an object that was never held. */
  remove(key: string): void;
  bookmark?(version: string): void;
}

export interface ReflectorOptions<T> {
  readonly client: ApiClient;
  readonly target: WatchTarget<T>;
  readonly handler: WatchHandler<T>;
  readonly log?: ApiLog;
  readonly clock?: Clock;
  /** In [0, 1). */
  readonly random?: () => number;
  /** A watch without a byte for this long is opened again. Servers send a bookmark about once a minute. */
  readonly silenceLimitMs?: number;
  /** The same while the initial state is being streamed. */
  readonly initialSilenceLimitMs?: number;
  /** False: everything is read with LIST, never as a stream. */
  readonly streamsInitialState?: boolean;
}

export interface WatchStatus {
  /** A watch is open at this moment. */
  readonly isConnected: boolean;
  /** The handler has had everything at least once. */
  readonly isSynced: boolean;
  /** When the server last sent something (Clock.now()); undefined: never. */
  readonly lastContact: number | undefined;
  readonly version: string;
}

const SILENCE_LIMIT_MS = 150_000;
const INITIAL_SILENCE_LIMIT_MS = 30_000;

export class Reflector<T> {
  readonly #client: ApiClient;
  readonly #target: WatchTarget<T>;
  readonly #handler: WatchHandler<T>;
  readonly #log: ApiLog;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #silenceLimitMs: number;
  readonly #initialSilenceLimitMs: number;
  readonly #streamsInitialState: boolean;
  readonly #backoff: Backoff;
  #position: Position;
  #isConnected = false;
  #isSynced = false;
  #lastContact: number | undefined;
  #signal: AbortSignal | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.#client = options.client;
    this.#target = options.target;
    this.#handler = options.handler;
    this.#log = options.log ?? silentLog;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#silenceLimitMs = options.silenceLimitMs ?? SILENCE_LIMIT_MS;
    this.#initialSilenceLimitMs = options.initialSilenceLimitMs ?? INITIAL_SILENCE_LIMIT_MS;
    this.#streamsInitialState = options.streamsInitialState ?? true;
    this.#backoff = new Backoff(this.#clock, this.#random);
    this.#position = this.#allowed(START);
  }

  get status(): WatchStatus {
    return {
      isConnected: this.#isConnected,
      isSynced: this.#isSynced,
      lastContact: this.#lastContact,
      version: this.#position.version,
    };
  }

  /** Runs until the signal is aborted. Only a mistake of ours, in `parse` or the handler, makes it fail. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    while (!signal.aborted) {
      const outcome = await this.#attempt();
      if (signal.aborted) return;
      const decided = decide(outcome);
      const decision = { ...decided, next: this.#allowed(decided.next) };
      const retryAfterMs = outcome.kind === 'failed' ? outcome.error.retryAfterSeconds * 1000 : 0;
      const waitMs = decision.waits ? Math.max(this.#backoff.next(), retryAfterMs) : 0;
      this.#report(decision, waitMs);
      this.#position = decision.next;
      if (waitMs > 0) await this.#clock.wait(waitMs, signal);
    }
  }

  #allowed(position: Position): Position {
    return position.phase === 'stream' && !this.#streamsInitialState ? { ...position, phase: 'list' } : position;
  }

  async #attempt(): Promise<Outcome> {
    const startedAt = this.#clock.now();
    const counted = { events: 0 };
    const outcome = (): Pick<Outcome, 'position' | 'lastedMs' | 'events'> => ({
      position: this.#position,
      lastedMs: this.#clock.now() - startedAt,
      events: counted.events,
    });
    try {
      if (this.#position.phase === 'list') {
        await this.#list();
        return { kind: 'listed', ...outcome() };
      }
      const rewoundTo = await this.#watch(counted);
      this.#contact();
      return rewoundTo === undefined
        ? { kind: 'ended', ...outcome() }
        : { kind: 'rewound', to: rewoundTo, ...outcome() };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // Until a moment ago nothing was amiss. Where the stream only fell silent, nobody knows since when.
      if (this.#isConnected && error.code !== 'API_STALLED') this.#contact();
      return { kind: 'failed', error, ...outcome() };
    } finally {
      this.#isConnected = false;
    }
  }

  async #list(): Promise<void> {
    const { version, isVersionRefused } = this.#position;
    const query = { ...this.#selectors(), resourceVersion: isVersionRefused ? '' : version || '0' };
    const request = { method: 'GET', path: this.#target.path, query, signal: this.#signal } as const;
    const contact = (): void => this.#contact();
    const { items, resourceVersion } = await readList(this.#client, request, this.#target.parse, contact);
    this.#replace(items, resourceVersion);
  }

  /** Returns when the server ends the stream; with a version, if the server's history has gone back to it. */
  async #watch(counted: { events: number }): Promise<string | undefined> {
    const { path } = this.#target;
    const initial = this.#position.phase === 'stream' ? new Map<string, T>() : undefined;
    const request = { method: 'GET', path, query: this.#watchQuery(), signal: this.#signal } as const;
    const response = await this.#client.open(request);
    this.#isConnected = true;
    this.#contact();

    const lines = new LineSplitter();
    let rewoundTo: string | undefined;
    const onLine = (line: string): void => {
      if (rewoundTo !== undefined) return;
      const event = decodeEvent(path, line);
      counted.events++;
      if (initial && this.#position.phase === 'stream') this.#initialEvent(initial, event);
      else if (event.kind !== 'remove' && isOlder(event.version, this.#position.version)) rewoundTo = event.version;
      else this.#event(event);
    };
    const silenceLimitMs = (): number =>
      this.#position.phase === 'stream' ? this.#initialSilenceLimitMs : this.#silenceLimitMs;
    for await (const chunk of streamOf(response, asked({ method: 'GET', path }), silenceLimitMs)) {
      this.#contact();
      lines.push(chunk, onLine);
      if (rewoundTo !== undefined) return rewoundTo;
    }
    if (lines.pendingBytes === 0) return undefined;
    throw new ApiError({ code: 'API_CUT', message: `GET ${path}: the stream ended in the middle of an event` });
  }

  #initialEvent(initial: Map<string, T>, event: WatchEvent): void {
    if (event.kind === 'bookmark') {
      if (event.endsInitialEvents) this.#replace(initial, event.version);
    } else if (event.kind === 'upsert') collect(initial, event.object, this.#target.parse);
    else initial.delete(objectKey(event.object));
  }

  #event(event: WatchEvent): void {
    if (event.kind === 'bookmark') this.#handler.bookmark?.(event.version);
    else {
      const key = objectKey(event.object);
      const value = event.kind === 'upsert' ? this.#target.parse(event.object) : undefined;
      if (value === undefined) this.#handler.remove(key);
      else this.#handler.upsert(key, value);
    }
    this.#position = { ...this.#position, version: event.version };
  }

  #replace(items: Map<string, T>, version: string): void {
    if (version === '') throw contentError({ method: 'GET', path: this.#target.path }, 'a list without a version');
    this.#handler.replace(items, version);
    this.#isSynced = true;
    this.#position = { phase: 'watch', version, isVersionRefused: false };
  }

  #watchQuery(): Record<string, string> {
    const { phase, version } = this.#position;
    return {
      ...this.#selectors(),
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: version,
      timeoutSeconds: String(Math.floor(300 * (1 + this.#random()))),
      ...(phase === 'stream' ? { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' } : {}),
    };
  }

  #selectors(): Record<string, string> {
    const { labelSelector, fieldSelector } = this.#target;
    return { ...(labelSelector ? { labelSelector } : {}), ...(fieldSelector ? { fieldSelector } : {}) };
  }

  #contact(): void {
    this.#lastContact = this.#clock.now();
  }

  /** One line: what happened, and what happens now. */
  #report({ level, problem, next }: Decision, waitMs: number): void {
    if (level === 'none') return;
    const step = {
      stream: 'read everything again',
      list: 'read everything with LIST',
      watch: `watch again from version ${next.version}`,
    }[next.phase];
    const when = waitMs > 0 ? `in ${(waitMs / 1000).toFixed(1)} s` : 'now';
    const kept = this.#isSynced ? '; what is known stays in force' : '';
    const values = { resource: this.#target.resource, err: problem, next: `${step} ${when}${kept}` };
    if (level === 'error') this.#log.error('Failed to watch', values);
    else this.#log.info('Watch interrupted', values);
  }
}
