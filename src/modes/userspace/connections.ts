// Every connection that is being relayed, for people who watch and for those who count. In: openings, bytes and endings. Out: lists
// and totals.

/** Whose connections they are. */
export interface RelayName {
  /** `shop/web:http/TCP cluster` */
  readonly key: string;
  /** `shop/web:http` */
  readonly service: string;
  readonly protocol: 'TCP' | 'UDP';
}

export interface Connection {
  readonly id: number;
  readonly relay: string;
  readonly service: string;
  readonly protocol: 'TCP' | 'UDP';
  /** `ip:port` as the relay sees it. */
  readonly client: string;
  /** Undefined until one has been reached. */
  backend: string | undefined;
  readonly startedAtMs: number;
  /** Backends that were tried in vain before. */
  failedDials: number;
  /** Why the last of these failed: `10.244.1.3:80: ECONNREFUSED`. */
  lastFailure: string | undefined;
  bytesToBackend: number;
  bytesToClient: number;
}

export interface EndedConnection extends Readonly<Connection> {
  readonly endedAtMs: number;
  readonly outcome: Outcome;
}

/** `no-backend`: there was none, or none that could be reached. `idle`: a UDP exchange that went quiet. */
export type Outcome = 'closed' | 'reset-by-client' | 'reset-by-backend' | 'no-backend' | 'idle' | 'stopped';

export interface Traffic {
  readonly connections: number;
  readonly bytesToBackend: number;
  readonly bytesToClient: number;
}

/** All connections that a relay ever had, those that are open included. */
export interface RelayTotals extends Traffic {
  readonly relay: string;
  /** By `ip:port`. Clients that reached none are in the sum alone. */
  readonly backends: ReadonlyMap<string, Traffic>;
}

const KEPT_ENDED = 200;

interface Sums {
  all: Traffic;
  readonly backends: Map<string, Traffic>;
}

export class ConnectionLog {
  readonly #now: () => number;
  readonly #open = new Map<number, Connection>();
  readonly #ended: EndedConnection[] = [];
  /** Of connections that have ended, by relay. */
  readonly #sums = new Map<string, Sums>();
  readonly #listeners = new Set<(connection: EndedConnection) => void>();
  #lastId = 0;
  #mostOpen = 0;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Those that are open, oldest first. */
  get open(): readonly Readonly<Connection>[] {
    return [...this.#open.values()];
  }

  get openCount(): number {
    return this.#open.size;
  }

  /** The most that were ever open at once. */
  get mostOpen(): number {
    return this.#mostOpen;
  }

  /** The last few hundred that ended, newest last. */
  get ended(): readonly EndedConnection[] {
    return this.#ended;
  }

  get totals(): RelayTotals[] {
    const sums = new Map(
      [...this.#sums].map(([relay, { all, backends }]) => [relay, { all, backends: new Map(backends) }]),
    );
    for (const connection of this.#open.values()) count(sums.get(connection.relay), connection);
    return [...sums].map(([relay, { all, backends }]) => ({ relay, ...all, backends }));
  }

  /** Told of every connection when it has ended. Calling the result ends that. */
  onEnded(listener: (connection: EndedConnection) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  begin({ key, service, protocol }: RelayName, client: string): Connection {
    const connection: Connection = {
      id: ++this.#lastId,
      relay: key,
      service,
      protocol,
      client,
      backend: undefined,
      startedAtMs: this.#now(),
      failedDials: 0,
      lastFailure: undefined,
      bytesToBackend: 0,
      bytesToClient: 0,
    };
    this.#open.set(connection.id, connection);
    this.#mostOpen = Math.max(this.#mostOpen, this.#open.size);
    return connection;
  }

  /** Ending one twice counts once. */
  end(connection: Connection, outcome: Outcome): void {
    if (!this.#open.delete(connection.id)) return;
    count(this.#sums.get(connection.relay), connection);
    const ended = { ...connection, endedAtMs: this.#now(), outcome };
    this.#ended.push(ended);
    if (this.#ended.length > KEPT_ENDED) this.#ended.shift();
    for (const listener of this.#listeners) listener(ended);
  }

  /** Counts for this relay from now on; of backends that it no longer has, totals are forgotten. */
  keepTotals(relay: string, addresses: readonly string[]): void {
    const sums = this.#sums.get(relay);
    if (!sums) this.#sums.set(relay, { all: NO_TRAFFIC, backends: new Map() });
    const kept = new Set(addresses);
    for (const address of sums?.backends.keys() ?? []) if (!kept.has(address)) sums?.backends.delete(address);
  }

  forgetTotals(relay: string): void {
    this.#sums.delete(relay);
  }
}

export const NO_TRAFFIC: Traffic = { connections: 0, bytesToBackend: 0, bytesToClient: 0 };

/** The sum of both. */
export function together(a: Traffic, b: Traffic): Traffic {
  return {
    connections: a.connections + b.connections,
    bytesToBackend: a.bytesToBackend + b.bytesToBackend,
    bytesToClient: a.bytesToClient + b.bytesToClient,
  };
}

/** Connections of a relay that is gone are nobody's. */
function count(sums: Sums | undefined, { backend, bytesToBackend, bytesToClient }: Connection): void {
  if (!sums) return;
  const one = { connections: 1, bytesToBackend, bytesToClient };
  sums.all = together(sums.all, one);
  if (backend !== undefined) sums.backends.set(backend, together(sums.backends.get(backend) ?? NO_TRAFFIC, one));
}
