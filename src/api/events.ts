// Events about this agent's life, for `kubectl describe node`. Recording returns at once; a single worker sends them when it
// can. Best effort: an event is never worth a failure, and an API server in trouble is not to be pressed.
import { type Clock, systemClock } from '../lib/clock.ts';
import type { ApiClient } from './client/client.ts';
import { ApiError, isTransport } from './client/error.ts';
import { type ApiLog, silentLog } from './client/log.ts';

export interface RecordedEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly action: string;
  readonly regarding: ObjectReference;
  readonly note: string;
}

export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
}

export interface EventRecorderOptions {
  readonly client: ApiClient;
  /** The operating system's, not the node's name. */
  readonly hostname: string;
  readonly log?: ApiLog;
  readonly clock?: Clock;
}

/** One event and its repeats. */
interface Series {
  readonly event: RecordedEvent;
  readonly name: string;
  readonly firstAtWall: number;
  count: number;
  lastAt: number;
  lastAtWall: number;
  /** How many of `count` the server knows of; 0: the event does not exist there. */
  sentCount: number;
}

const CONTROLLER = 'kube-proxy';
const SERIES_MS = 6 * 60_000;
const RETRIES = 12;
const RETRY_MS = 10_000;
const NOTE_LIMIT = 1024; // events.k8s.io/v1 refuses longer notes
const QUEUE_LIMIT = 1000;

export class EventRecorder {
  readonly #client: ApiClient;
  readonly #instance: string;
  readonly #log: ApiLog;
  readonly #clock: Clock;
  readonly #series = new Map<string, Series>();
  readonly #queue = new Set<Series>();
  readonly #stop = new AbortController();
  #worker: Promise<void> = Promise.resolve();
  #isWorking = false;
  #lastStamp = 0n;

  constructor({ client, hostname, log = silentLog, clock = systemClock }: EventRecorderOptions) {
    this.#client = client;
    this.#instance = `${CONTROLLER}-${hostname}`;
    this.#log = log;
    this.#clock = clock;
  }

  record(event: RecordedEvent): void {
    this.#forgetOld();
    const series = this.#seriesOf(event);
    series.count++;
    series.lastAt = this.#clock.now();
    series.lastAtWall = this.#clock.wallNow();
    if (this.#queue.size >= QUEUE_LIMIT || this.#stop.signal.aborted) return;
    this.#queue.add(series); // repeats of one that still waits are sent with it
    if (!this.#isWorking) this.#worker = this.#work();
  }

  /** When all that was recorded has been sent or given up. */
  async idle(): Promise<void> {
    await this.#worker;
  }

  /** Gives up what was not sent. */
  close(): void {
    this.#stop.abort();
  }

  #seriesOf(event: RecordedEvent): Series {
    const { namespace = '', kind, name } = event.regarding;
    const key = JSON.stringify([event.type, event.action, event.reason, kind, namespace, name]);
    const known = this.#series.get(key);
    if (known) return known;
    const wall = this.#clock.wallNow();
    const series: Series = {
      event,
      name: `${name}.${this.#stamp(wall).toString(16)}`,
      firstAtWall: wall,
      count: 0,
      lastAt: 0,
      lastAtWall: wall,
      sentCount: 0,
    };
    this.#series.set(key, series);
    return series;
  }

  /** Unix nanoseconds, never the same twice. */
  #stamp(wallMs: number): bigint {
    const stamp = BigInt(Math.floor(wallMs)) * 1_000_000n;
    this.#lastStamp = stamp > this.#lastStamp ? stamp : this.#lastStamp + 1n;
    return this.#lastStamp;
  }

  #forgetOld(): void {
    const now = this.#clock.now();
    for (const [key, series] of this.#series) if (now - series.lastAt > SERIES_MS) this.#series.delete(key);
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    for (const series of this.#queue) {
      this.#queue.delete(series);
      await this.#deliver(series);
      if (this.#stop.signal.aborted) this.#queue.clear();
    }
    this.#isWorking = false;
  }

  async #deliver(series: Series): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#send(series);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        const isFinal = !isTransport(error) || attempt >= RETRIES;
        if (this.#stop.signal.aborted) return;
        if (isFinal) {
          const { reason, regarding } = series.event;
          this.#log.error('Unable to write event; it is dropped', {
            reason,
            object: `${regarding.kind} ${regarding.name}`,
            err: error.message,
          });
          return;
        }
        await this.#clock.wait(RETRY_MS, this.#stop.signal);
      }
    }
  }

  async #send(series: Series): Promise<void> {
    const { count } = series;
    const collection = `/apis/events.k8s.io/v1/namespaces/${series.event.regarding.namespace || 'default'}/events`;
    const signal = this.#stop.signal;
    if (series.sentCount > 0) {
      const path = `${collection}/${series.name}`;
      const body = { series: seriesBody(series) };
      try {
        await this.#client.json({ method: 'PATCH', path, body, contentType: 'application/merge-patch+json', signal });
        series.sentCount = count;
        return;
      } catch (error) {
        // The server forgets events after an hour; then this one starts anew.
        if (!(error instanceof ApiError) || error.status !== 404) throw error;
      }
    }
    await this.#client.json({ method: 'POST', path: collection, body: this.#eventBody(series), signal });
    series.sentCount = count;
  }

  #eventBody(series: Series): Record<string, unknown> {
    const { type, reason, action, regarding, note } = series.event;
    return {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: series.name, namespace: regarding.namespace || 'default' },
      eventTime: microTime(series.firstAtWall),
      ...(series.count > 1 ? { series: seriesBody(series) } : {}),
      reportingController: CONTROLLER,
      reportingInstance: this.#instance,
      action,
      reason,
      regarding,
      note: note.slice(0, NOTE_LIMIT),
      type,
    };
  }
}

function seriesBody({ count, lastAtWall }: Series): Record<string, unknown> {
  return { count, lastObservedTime: microTime(lastAtWall) };
}

/** `2026-01-02T03:04:05.678000Z`: microseconds are part of the format. */
function microTime(wallMs: number): string {
  return new Date(wallMs).toISOString().replace('Z', '000Z');
}
