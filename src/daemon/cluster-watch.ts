// The watches of what a proxy needs from the cluster, wired to the Tracker.
import type { ApiClient } from '../api/client/client.ts';
import type { ApiLog } from '../api/client/log.ts';
import type { EndpointSlice, Problem, Service } from '../api/objects.ts';
import {
  HEADLESS_LABEL,
  type Parsed,
  PROXY_NAME_LABEL,
  parseEndpointSlice,
  parseService,
  parseServiceCIDR,
} from '../api/parse.ts';
import { Reflector, type WatchStatus, type WatchTarget } from '../api/watch.ts';
import type { Clock } from '../lib/clock.ts';
import type { Tracker } from '../track/tracker.ts';

export interface ClusterWatchOptions {
  readonly client: ApiClient;
  readonly tracker: Tracker;
  readonly clock: Clock;
  readonly log: ApiLog;
  /** The gate WatchListClient. */
  readonly streamsInitialState: boolean;
  /** ServiceCIDRs are for nftables mode alone. */
  readonly watchesServiceCIDRs: boolean;
  /** Both Services and EndpointSlices have been read once, and something may have changed. */
  readonly onChange: () => void;
  readonly onServiceEvent: () => void;
  readonly onSliceEvent: (slice: EndpointSlice | undefined) => void;
  readonly onProblems: (object: string, problems: readonly Problem[]) => void;
}

export class ClusterWatch {
  readonly #options: ClusterWatchOptions;
  readonly #reflectors: ReadonlyMap<string, AnyReflector>;
  readonly #synced = new Set<string>();

  constructor(options: ClusterWatchOptions) {
    const { tracker } = options;
    this.#options = options;
    const services = this.#reflector({
      resource: 'services',
      path: '/api/v1/services',
      labelSelector: `!${PROXY_NAME_LABEL}`,
      fieldSelector: 'spec.clusterIP!=None',
      parse: parseService,
      held: () => tracker.serviceNames(),
      set: (name, service: Service | undefined) => {
        tracker.setService(name, service);
        options.onServiceEvent();
      },
    });
    const slices = this.#reflector({
      resource: 'endpointslices',
      path: '/apis/discovery.k8s.io/v1/endpointslices',
      labelSelector: `!${HEADLESS_LABEL}`,
      parse: parseEndpointSlice,
      held: () => tracker.sliceNames(),
      set: (name, slice: EndpointSlice | undefined) => {
        tracker.setSlice(name, slice);
        options.onSliceEvent(slice);
      },
    });
    const serviceCIDRs = this.#reflector({
      resource: 'servicecidrs',
      path: '/apis/networking.k8s.io/v1/servicecidrs',
      parse: parseServiceCIDR,
      held: () => tracker.serviceCIDRNames(),
      set: (name, serviceCIDR) => tracker.setServiceCIDR(name, serviceCIDR),
    });
    this.#reflectors = new Map<string, AnyReflector>([
      ['services', services],
      ['endpointslices', slices],
      ...(options.watchesServiceCIDRs ? [['servicecidrs', serviceCIDRs] as const] : []),
    ]);
  }

  /** Services and EndpointSlices have both been read. */
  get isSynced(): boolean {
    return this.#synced.has('services') && this.#synced.has('endpointslices');
  }

  status(): ReadonlyMap<string, WatchStatus> {
    return new Map([...this.#reflectors].map(([resource, { status }]) => [resource, status]));
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#reflectors.values()].map((reflector) => reflector.run(signal)));
  }

  #reflector<T>(watched: Watched<T>): Reflector<T> {
    const { client, log, clock, streamsInitialState } = this.#options;
    return new Reflector<T>({
      client,
      log,
      clock,
      streamsInitialState,
      target: { ...watched, parse: (raw) => this.#parse(watched, raw) },
      handler: {
        replace: (items) => {
          for (const name of [...watched.held()]) if (!items.has(name)) watched.set(name, undefined);
          for (const [name, value] of items) watched.set(name, value);
          this.#synced.add(watched.resource);
          this.#changed();
        },
        upsert: (name, value) => {
          watched.set(name, value);
          this.#changed();
        },
        remove: (name) => {
          this.#options.onProblems(`${watched.resource} ${name}`, []);
          watched.set(name, undefined);
          this.#changed();
        },
      },
    });
  }

  #parse<T>(watched: Watched<T>, raw: unknown): T | undefined {
    const { metadata } = raw as { metadata?: { namespace?: string; name?: string } };
    const { value, problems } = watched.parse(raw);
    const name = metadata?.namespace === undefined ? metadata?.name : `${metadata.namespace}/${metadata.name}`;
    this.#options.onProblems(`${watched.resource} ${name}`, problems);
    return value;
  }

  #changed(): void {
    if (this.isSynced) this.#options.onChange();
  }
}

type AnyReflector = Pick<Reflector<unknown>, 'status' | 'run'>;

interface Watched<T> extends Omit<WatchTarget<T>, 'parse'> {
  readonly parse: (raw: unknown) => Parsed<T>;
  readonly held: () => Iterable<string>;
  readonly set: (name: string, value: T | undefined) => void;
}
