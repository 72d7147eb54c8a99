// Userspace mode at work in one family: its relays run in this process.
import { availableParallelism } from 'node:os';
import type { Iptables } from '../kernel/iptables.ts';
import type { Clock } from '../lib/clock.ts';
import type { Family } from '../lib/ip.ts';
import type { NodeIdentity } from '../model/resolve.ts';
import type { UserspaceDrivers } from '../modes/userspace/apply.ts';
import { Claims } from '../modes/userspace/claims.ts';
import type { UserspaceChange, UserspaceState } from '../modes/userspace/diff.ts';
import { type UserspaceFacts, unusableBecause, userspaceFacts } from '../modes/userspace/facts.ts';
import type { UserspacePlan } from '../modes/userspace/plan.ts';
import { parsePortRange } from '../modes/userspace/ports.ts';
import type { OpenConnections } from '../modes/userspace/relay-host.ts';
import { RelayThreads } from '../modes/userspace/relay-threads.ts';
import { DEFAULT_UDP_IDLE_TIMEOUT_MS } from '../modes/userspace/relays.ts';
import { CHAINS } from '../modes/userspace/rules.ts';
import { userspaceMode } from '../modes/userspace/userspace.ts';
import type { NodeSettings } from '../node/facts.ts';
import type { Log } from '../observe/log.ts';
import { type FamilyState, NOTHING_OWED } from '../pipeline.ts';
import type { Tracker } from '../track/tracker.ts';
import { FatalError } from './fatal.ts';
import { commonRuntime, type ModeRuntime } from './runtime.ts';

export interface UserspaceRuntimeOptions {
  readonly family: Family;
  readonly iptables: Iptables;
  readonly tracker: Tracker;
  readonly identity: NodeIdentity;
  readonly settings: NodeSettings;
  readonly syncPeriodMs: number;
  readonly clock: Clock;
  readonly log: Log;
  /** How long a UDP client may be quiet before it is forgotten. */
  readonly udpIdleTimeoutMs?: number;
  /** A thread of relays ended by an error of ours. */
  readonly onLost: (error: Error) => void;
}

const MOST_THREADS = 4;

/** One CPU is left to the rest of the agent, which plans while the relays relay. */
function threadCount(): number {
  return Math.max(1, Math.min(MOST_THREADS, availableParallelism() - 1));
}

/** What other modes leave to the kernel can be watched here. */
export interface UserspaceRuntime extends ModeRuntime {
  connections(): Promise<OpenConnections>;
  /** Takes no new connections; those that are open go on until this process ends. */
  stop(): void;
}

export function userspaceRuntime(options: UserspaceRuntimeOptions): UserspaceRuntime {
  const { family, iptables, settings, clock, log } = options;
  const facts = userspaceFacts(settings, family);
  const unusable = unusableBecause(facts);
  if (unusable) throw new FatalError(unusable);
  const portRange = parsePortRange(settings.configuration.portRange);
  const udpIdleTimeoutMs = options.udpIdleTimeoutMs ?? DEFAULT_UDP_IDLE_TIMEOUT_MS;
  const relays = new RelayThreads({ udpIdleTimeoutMs, ...(portRange && { portRange }) }, threadCount(), options.onLost);
  const claims = new Claims({ family, onProblem: (text) => log.warning(text, { ipFamily: family }) });
  const state: FamilyState<UserspaceFacts, UserspacePlan, UserspaceState, UserspaceChange, UserspaceDrivers> = {
    family,
    tracker: options.tracker,
    identity: options.identity,
    mode: userspaceMode,
    drivers: { iptables, relays, claims },
    probe: async () => facts,
    held: undefined,
    owed: NOTHING_OWED,
  };
  relays.onEnded(({ id: _, ...connection }) => log.info('Relayed a connection', { ...connection }, 4));

  return {
    ...commonRuntime(state, () => {}),
    connections: () => relays.connections(),
    checksHourly: true,
    watch: async (listener, signal) => {
      while (!signal.aborted) {
        await clock.wait(options.syncPeriodMs, signal);
        if (signal.aborted) return;
        relays.expire();
        const isWritten = state.plan !== undefined && state.held === state.plan;
        if (isWritten && (await iptables.hasChain('nat', CHAINS.portalsContainer)) === 'no') {
          listener.changed(`chain ${CHAINS.portalsContainer} is gone`);
        }
      }
    },
    measure: () => {},
    countFailure: () => {}, // this mode never had metrics of its own
    stop: () => {
      relays.stopAll();
      claims.releaseAll();
    },
  };
}
