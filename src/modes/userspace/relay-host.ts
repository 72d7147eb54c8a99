// Where relays run: in this thread (relays.ts) or dealt out to others (relay-threads.ts).
import type { Connection, EndedConnection } from './connections.ts';
import type { RelayPlan } from './plan.ts';

export interface RelayHost {
  readonly size: number;
  /** Undefined if it does not run. */
  portOf(key: string): number | undefined;
  /** Starts it, or gives the running one its new backends. */
  ensure(plan: RelayPlan, ip: string): Promise<void>;
  /** No new clients; connections that are open go on. */
  stop(key: string): void;
  stopAll(): void;
  /** Forgets clients whose session affinity has run out. */
  expire(): void;
  /** Everything that is being relayed right now, and the most that ever was at once. */
  connections(): Promise<OpenConnections>;
  /** Told of every connection when it has ended. Calling the result ends that. */
  onEnded(listener: (connection: EndedConnection) => void): () => void;
}

export interface OpenConnections {
  readonly open: readonly Readonly<Connection>[];
  readonly mostOpen: number;
}
