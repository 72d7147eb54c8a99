// Rates from the kernel's own counters. They are read while somebody watches and not otherwise, at most once a second, and
// more rarely where reading takes long: never more than a tenth of the time.
import type { Clock } from '../../lib/clock.ts';
import type { EdgeRate, RatesShape } from './shapes.ts';

const SECOND_MS = 1000;
const IDLE_SHARE = 10;
const MAX_SERVICES = 1000;

export interface CounterWatchOptions {
  readonly clock: Clock;
  /** All counters of all families, by the edges' names. */
  readonly read: () => Promise<ReadonlyMap<string, number>>;
  readonly onError: (error: unknown) => void;
}

export interface Sample {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly edges: ReadonlyMap<string, EdgeRate>;
}

export class CounterWatch {
  readonly #options: CounterWatchOptions;
  readonly #watchers = new Set<(sample: Sample) => void>();
  #stop: AbortController | undefined;
  #last: { readonly sample: Sample; readonly readAt: number } | undefined;

  constructor(options: CounterWatchOptions) {
    this.#options = options;
  }

  /** The latest, if somebody watches. */
  get sample(): Sample | undefined {
    return this.#last?.sample;
  }

  /** Until the returned function is called. */
  watch(watcher: (sample: Sample) => void): () => void {
    this.#watchers.add(watcher);
    if (this.#last) watcher(this.#last.sample);
    this.#stop ??= this.#start();
    return () => {
      this.#watchers.delete(watcher);
      if (this.#watchers.size > 0) return;
      this.#stop?.abort();
      this.#stop = undefined;
      this.#last = undefined;
    };
  }

  #start(): AbortController {
    const stop = new AbortController();
    void this.#loop(stop.signal);
    return stop;
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { clock, read, onError } = this.#options;
    while (!signal.aborted) {
      const startedAt = clock.now();
      try {
        const counts = await read();
        if (signal.aborted) return;
        const sample = this.#sampleOf(counts, clock.now());
        for (const watcher of this.#watchers) watcher(sample);
      } catch (error) {
        onError(error);
      }
      await clock.wait(Math.max(SECOND_MS, (clock.now() - startedAt) * IDLE_SHARE), signal);
    }
  }

  #sampleOf(counts: ReadonlyMap<string, number>, readAt: number): Sample {
    const last = this.#last;
    const seconds = last ? (readAt - last.readAt) / 1000 : 0;
    const edges = new Map<string, EdgeRate>();
    for (const [name, count] of counts) {
      const before = last?.sample.edges.get(name)?.count ?? count;
      // A rule that was written anew counts from 0 again.
      const more = count < before ? count : count - before;
      edges.set(name, { count, rate: seconds > 0 ? more / seconds : 0 });
    }
    const sample = { at: this.#options.clock.wallNow(), edges };
    this.#last = { sample, readAt };
    return sample;
  }
}

/** What a sample says of services, and of the edges that are asked for. */
export function ratesShape(
  { at, edges }: Sample,
  serviceOf: ReadonlyMap<string, string>,
  wanted: readonly string[],
): RatesShape {
  const services = serviceRates({ at, edges }, serviceOf);
  return {
    at,
    services: [...services].sort(([, a], [, b]) => b - a).slice(0, MAX_SERVICES),
    total: [...services.values()].reduce((sum, rate) => sum + rate, 0),
    edges: Object.fromEntries(wanted.flatMap((name) => (edges.has(name) ? [[name, edges.get(name)!]] : []))),
  };
}

/** Services without new connections are left out. */
export function serviceRates({ edges }: Sample, serviceOf: ReadonlyMap<string, string>): Map<string, number> {
  const rates = new Map<string, number>();
  for (const [edge, { rate }] of edges) {
    const name = rate > 0 ? serviceOf.get(edge) : undefined;
    if (name !== undefined) rates.set(name, (rates.get(name) ?? 0) + rate);
  }
  return rates;
}
