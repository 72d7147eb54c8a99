// Notices that somebody has flushed the tables: an empty chain of ours in each of them is gone then.
import type { Iptables } from '../../kernel/iptables.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Table } from './jumps.ts';
import { CANARY_CHAIN } from './print.ts';

export interface CanaryOptions {
  readonly iptables: Iptables;
  readonly clock: Clock;
  readonly intervalMs: number;
  /** Counts changes of rules, whoever makes them. Undefined where nothing does: then the canaries are looked at in every interval only. */
  readonly generation: () => Promise<number | undefined>;
  /** A sync has made the canaries, and none is under way that will look for itself. */
  readonly isExpected: () => boolean;
  /** The rules are gone, as far as can be told; a full sync brings them and the canaries back. */
  readonly onFlushed: () => void;
  /** Some tables were flushed and others were not, even after a while. */
  readonly onInconsistent: () => void;
  readonly onError: (error: unknown) => void;
}

const GLANCE_MS = 1000;
const POLL_MS = 100;
const PATIENCE_MS = 5000;

/** Until the signal is aborted. */
export async function watchCanary(options: CanaryOptions, signal: AbortSignal): Promise<void> {
  const { iptables, clock, intervalMs } = options;
  const isGone = async (table: Table): Promise<boolean> => (await iptables.hasChain(table, CANARY_CHAIN)) === 'no';
  let lookedAt = clock.now();
  let seen: number | undefined;
  let pauseMs = GLANCE_MS;
  while (!signal.aborted) {
    await clock.wait(Math.min(pauseMs, intervalMs), signal);
    if (signal.aborted) return;
    try {
      pauseMs = GLANCE_MS;
      const generation = await options.generation();
      if (generation === seen && clock.now() - lookedAt < intervalMs) continue;
      seen = generation;
      lookedAt = clock.now();
      if (!((await isGone('mangle')) && options.isExpected())) continue;
      // Whoever flushes, flushes table by table: let them finish, so that they do not take away what is about to be mended.
      const deadline = clock.now() + PATIENCE_MS;
      while (!((await isGone('nat')) && (await isGone('filter')))) {
        if (clock.now() >= deadline) {
          options.onInconsistent();
          break;
        }
        await clock.wait(POLL_MS, signal);
      }
      options.onFlushed();
    } catch (error) {
      options.onError(error);
      pauseMs = intervalMs;
    }
  }
}
