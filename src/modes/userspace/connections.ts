// Every connection that is being relayed, for people who watch. In: openings, bytes and endings. Out: lists and totals.

export interface Connection {
  readonly id: number;
  readonly service: string;
  readonly protocol: 'TCP' | 'UDP';
  /** `ip:port` as the relay sees it. */
  readonly client: string;
  /** Undefined until one has been reached. */
  backend: string | undefined;
  readonly startedAtMs: number;
  /** Backends that were tried in vain before. */
  failedDials: number;
  bytesToBackend: number;
  bytesToClient: number;
}

export interface EndedConnection extends Readonly<Connection> {
  readonly endedAtMs: number;
  readonly outcome: Outcome;
}

/** `no-backend`: there was none, or none that could be reached. `idle`: a UDP exchange that went quiet. */
export type Outcome = 'closed' | 'reset-by-client' | 'reset-by-backend' | 'no-backend' | 'idle' | 'stopped';

const KEPT_ENDED = 200;

export class ConnectionLog {
  readonly #now: () => number;
  readonly #open = new Map<number, Connection>();
  readonly #ended: EndedConnection[] = [];
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

  /** How many there were so far. */
  get total(): number {
    return this.#lastId;
  }

  /** Told of every connection when it has ended. Calling the result ends that. */
  onEnded(listener: (connection: EndedConnection) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  begin(service: string, protocol: 'TCP' | 'UDP', client: string): Connection {
    const connection: Connection = {
      id: ++this.#lastId,
      service,
      protocol,
      client,
      backend: undefined,
      startedAtMs: this.#now(),
      failedDials: 0,
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
    const ended = { ...connection, endedAtMs: this.#now(), outcome };
    this.#ended.push(ended);
    if (this.#ended.length > KEPT_ENDED) this.#ended.shift();
    for (const listener of this.#listeners) listener(ended);
  }
}
