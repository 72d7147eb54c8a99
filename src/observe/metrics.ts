// In: increments, settings and observations. Out: metric families as plain data, ready to be printed (exposition.ts).
// Our own registry, because the usual client library costs a daemon 19 MB of resident memory and Portolan needs six
// operations of it. Plain metrics exist from the start; a labelled series appears on its first use.

export type MetricType = 'counter' | 'gauge' | 'histogram';
export type Labels = Readonly<Record<string, string>>;

export interface NumberSample {
  readonly labels: Labels;
  readonly value: number;
}

export interface HistogramSample {
  readonly labels: Labels;
  /** Cumulative counts by upper bound, the last bound being Infinity. */
  readonly buckets: readonly (readonly [bound: number, count: number])[];
  readonly sum: number;
}

export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  readonly samples: readonly (NumberSample | HistogramSample)[];
}

export interface Description {
  readonly name: string;
  readonly help: string;
}

export interface Counter {
  increment(by?: number): void;
}

export interface Gauge {
  set(value: number): void;
  add(by: number): void;
}

export interface Histogram {
  observe(value: number): void;
}

/** The series of a labelled metric. */
export interface By<Label extends string, Cell> {
  of(labels: Readonly<Record<Label, string>>): Cell;
  /** Forgets every series. */
  clear(): void;
}

export type Collect = () => readonly NumberSample[] | Promise<readonly NumberSample[]>;

interface Metric extends Description {
  readonly type: MetricType;
  readonly collect: () => MetricFamily['samples'] | Promise<MetricFamily['samples']>;
}

export class Registry {
  readonly #metrics = new Map<string, Metric>();

  counter(description: Description): Counter {
    const cell = new NumberCell();
    this.#add({ ...description, type: 'counter', collect: () => [cell.sample({})] });
    return cell;
  }

  gauge(description: Description): Gauge {
    const cell = new NumberCell();
    this.#add({ ...description, type: 'gauge', collect: () => [cell.sample({})] });
    return cell;
  }

  histogram(description: Description, buckets: readonly number[]): Histogram {
    const cell = new HistogramCell(buckets);
    this.#add({ ...description, type: 'histogram', collect: () => [cell.sample({})] });
    return cell;
  }

  counterBy<Label extends string>(description: Description, labels: readonly Label[]): By<Label, Counter> {
    return this.#series(description, 'counter', labels, () => new NumberCell());
  }

  gaugeBy<Label extends string>(description: Description, labels: readonly Label[]): By<Label, Gauge> {
    return this.#series(description, 'gauge', labels, () => new NumberCell());
  }

  histogramBy<Label extends string>(
    description: Description,
    labels: readonly Label[],
    buckets: readonly number[],
  ): By<Label, Histogram> {
    return this.#series(description, 'histogram', labels, () => new HistogramCell(buckets));
  }

  /** A metric whose samples are read anew at each scrape; without samples it is absent from the page. */
  collected(description: Description, type: 'counter' | 'gauge', collect: Collect): void {
    this.#add({ ...description, type, collect });
  }

  /** All families that have samples, by name. A metric that cannot be read is left out and told to `onError`. */
  async gather(onError: (name: string, error: unknown) => void = () => {}): Promise<MetricFamily[]> {
    const metrics = [...this.#metrics.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    const families: MetricFamily[] = [];
    for (const { name, help, type, collect } of metrics) {
      try {
        const samples = await collect();
        if (samples.length > 0) families.push({ name, help, type, samples });
      } catch (error) {
        onError(name, error);
      }
    }
    return families;
  }

  #series<Label extends string, C extends Cell>(
    description: Description,
    type: MetricType,
    labels: readonly Label[],
    create: () => C,
  ): Series<Label, C> {
    const series = new Series(labels, create);
    this.#add({ ...description, type, collect: () => series.samples() });
    return series;
  }

  #add(metric: Metric): void {
    if (this.#metrics.has(metric.name)) throw new Error(`metric ${metric.name} is registered twice`);
    // OpenMetrics names a counter's family without this suffix, so a counter that lacks it cannot be printed there.
    if (metric.type === 'counter' && !metric.name.endsWith('_total')) {
      throw new Error(`counter ${metric.name} must end in _total`);
    }
    this.#metrics.set(metric.name, metric);
  }
}

interface Cell {
  sample(labels: Labels): NumberSample | HistogramSample;
}

class NumberCell implements Cell, Counter, Gauge {
  #value = 0;

  increment(by = 1): void {
    this.#value += by;
  }

  add(by: number): void {
    this.#value += by;
  }

  set(value: number): void {
    this.#value = value;
  }

  sample(labels: Labels): NumberSample {
    return { labels, value: this.#value };
  }
}

class HistogramCell implements Cell, Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(buckets: readonly number[]) {
    this.#bounds = [...buckets, Number.POSITIVE_INFINITY];
    this.#counts = new Float64Array(this.#bounds.length);
  }

  observe(value: number): void {
    const index = this.#bounds.findIndex((bound) => value <= bound);
    if (index < 0) return; // not a number
    this.#counts[index]! += 1;
    this.#sum += value;
  }

  sample(labels: Labels): HistogramSample {
    let total = 0;
    const buckets = this.#bounds.map((bound, i) => {
      total += this.#counts[i]!;
      return [bound, total] as const;
    });
    return { labels, buckets, sum: this.#sum };
  }
}

class Series<Label extends string, C extends Cell> implements By<Label, C> {
  readonly #labels: readonly Label[];
  readonly #create: () => C;
  readonly #cells = new Map<string, { readonly labels: Labels; readonly cell: C }>();

  constructor(labels: readonly Label[], create: () => C) {
    this.#labels = [...labels].sort();
    this.#create = create;
  }

  of(labels: Readonly<Record<Label, string>>): C {
    const key = this.#labels.map((name) => labels[name]).join('\0');
    const known = this.#cells.get(key);
    if (known) return known.cell;
    const own: Labels = Object.fromEntries(this.#labels.map((name) => [name, labels[name]]));
    const cell = this.#create();
    this.#cells.set(key, { labels: own, cell });
    return cell;
  }

  clear(): void {
    this.#cells.clear();
  }

  samples(): (NumberSample | HistogramSample)[] {
    const byKey = [...this.#cells].sort(([a], [b]) => (a < b ? -1 : 1));
    return byKey.map(([, { labels, cell }]) => cell.sample(labels));
  }
}
