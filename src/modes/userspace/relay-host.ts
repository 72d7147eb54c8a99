// Where relays run: in this thread (relays.ts) or dealt out to others (relay-threads.ts).
import type { Connection, EndedConnection, RelayTotals } from './connections.ts';
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
  connections(): Promise<RelayedConnections>;
  totals(): Promise<readonly RelayTotals[]>;
  /** Told of every connection when it has ended. Calling the result ends that. */
  onEnded(listener: (connection: EndedConnection) => void): () => void;
  /** Told when a relay could not let a client in, and why. Calling the result ends that. */
  onTrouble(listener: (relay: string, error: Error) => void): () => void;
}

export interface RelayedConnections {
  /** Being relayed right now, oldest first. */
  readonly open: readonly Readonly<Connection>[];
  /** The most that ever were at once. */
  readonly mostOpen: number;
  /** Those that ended lately, newest last. */
  readonly ended: readonly EndedConnection[];
}

/** Of several hosts together. Each of them had its most at a time of its own, so the sum is a bound. */
export function allConnections(parts: readonly RelayedConnections[]): RelayedConnections {
  return {
    open: parts.flatMap(({ open }) => open).sort((a, b) => a.startedAtMs - b.startedAtMs),
    mostOpen: parts.reduce((sum, { mostOpen }) => sum + mostOpen, 0),
    ended: parts.flatMap(({ ended }) => ended).sort((a, b) => a.endedAtMs - b.endedAtMs),
  };
}
