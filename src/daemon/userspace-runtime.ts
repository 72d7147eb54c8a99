// Userspace mode at work in one family: its relays run in this process.
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { inMilliseconds } from '../lib/duration.ts';
import { parsePortRange } from '../lib/port-range.ts';
import type { NodeModel } from '../model/model.ts';
import type { UserspaceDrivers } from '../modes/userspace/apply.ts';
import { Claims } from '../modes/userspace/claims.ts';
import type { Traffic } from '../modes/userspace/connections.ts';
import type { UserspaceChange, UserspaceState } from '../modes/userspace/diff.ts';
import { foundChanged } from '../modes/userspace/drift.ts';
import { type UserspaceFacts, unusableBecause, userspaceFacts } from '../modes/userspace/facts.ts';
import { isRelayed, type UserspacePlan } from '../modes/userspace/plan.ts';
import type { RelayedConnections } from '../modes/userspace/relay-host.ts';
import { RelayThreads } from '../modes/userspace/relay-threads.ts';
import { type PortTraffic, portTraffic } from '../modes/userspace/traffic.ts';
import { userspaceMode } from '../modes/userspace/userspace.ts';
import type { Log } from '../observe/log.ts';
import { softLimit } from '../observe/process-metrics.ts';
import type { CountedServices } from '../observe/service-metrics.ts';
import type { FamilyState } from '../pipeline.ts';
import { FatalError } from './fatal.ts';
import { commonRuntime, type ModeRuntime, type RulesRuntimeOptions, untouched } from './runtime.ts';

export interface UserspaceRuntimeOptions extends RulesRuntimeOptions {
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
  connections(): Promise<RelayedConnections>;
  /** Takes no new connections; those that are open go on until this process ends. */
  stop(): void;
}

export function userspaceRuntime(options: UserspaceRuntimeOptions): UserspaceRuntime {
  const { family, iptables, settings, clock, log } = options;
  const facts = userspaceFacts(settings, family);
  const unusable = unusableBecause(facts);
  if (unusable) throw new FatalError(unusable);
  if (family === settings.addresses.primary) introduce(log);
  const { portolan, portRange } = settings.configuration;
  const range = parsePortRange(portRange);
  const relays = new RelayThreads(
    {
      udpIdleTimeoutMs: inMilliseconds(portolan.udpIdleTimeout),
      ...(range && range !== 'any' && { portRange: range }),
    },
    threadCount(),
    options.onLost,
  );
  const claims = new Claims({ family, onProblem: (text) => log.warning(text, { ipFamily: family }) });
  const state: FamilyState<UserspaceFacts, UserspacePlan, UserspaceState, UserspaceChange, UserspaceDrivers> =
    untouched(options, {
      mode: userspaceMode,
      drivers: { iptables, relays, claims },
      probe: async () => facts,
    });
  relays.onEnded(({ id: _, ...connection }) => {
    if (connection.outcome === 'no-backend') log.info('Found nobody for a connection', { ...connection }, 2);
    else log.info('Relayed a connection', { ...connection }, 4);
  });
  relays.onTrouble((relay, error) => log.error(error, 'Could not accept a connection', { relay }));
  const noteLeftOut = leftOutNotes(log);

  return {
    ...commonRuntime(state, ({ model }) => noteLeftOut(model)),
    connections: () => relays.connections(),
    checksHourly: true,
    watch: async (listener, signal) => {
      while (!signal.aborted) {
        await clock.wait(options.syncPeriodMs, signal);
        if (signal.aborted) return;
        relays.expire();
        await claims.retry();
        const { plan } = state;
        if (!plan || state.held !== plan) continue; // a sync is under way, or failed; it will see for itself
        try {
          const changed = foundChanged(await iptables.save(), plan);
          if (changed && state.held === plan) listener.changed(changed);
        } catch (error) {
          log.error(error, 'Could not check whether the iptables rules still stand', { ipFamily: family });
        }
      }
    },
    measure: () => {},
    counts: async () => countedServices(state.model ? portTraffic(state.model, await relays.totals()) : []),
    countFailure: () => {}, // this mode never had metrics of its own
    stop: () => {
      relays.stopAll();
      claims.releaseAll();
    },
  };
}

/** What upstream sets its own limit to, or does not start. */
const WANTED_FILES = 64_000;

/** Once for both families. */
function introduce(log: Log): void {
  log.warning(
    'In userspace mode every byte passes through this process, and no Service works while it is away; upstream has given the mode up',
  );
  const limit = softLimit(readFileSync('/proc/self/limits', 'utf8'), 'Max open files');
  if (limit !== undefined && limit < WANTED_FILES)
    log.warning('Few files may be open at once: a relayed connection takes two', { limit, recommended: WANTED_FILES });
}

/** Says once of each service port that it is left out. */
function leftOutNotes(log: Log): (model: NodeModel) => void {
  const noted = new Set<string>();
  return ({ services, changed, isFresh }) => {
    for (const name of isFresh ? services.keys() : changed) {
      for (const port of services.get(name)?.ports ?? []) {
        if (isRelayed(port) || noted.has(port.displayName)) continue;
        noted.add(port.displayName);
        log.warning('SCTP is not supported for user space proxy', { service: port.displayName });
      }
    }
  };
}

/** A relay is asked by all addresses of its port alike. */
const ANY_FRONTEND = '*';

function countedServices(traffic: readonly PortTraffic[]): CountedServices {
  const counted = ({ connections, bytesToBackend, bytesToClient }: Traffic) => ({
    connections,
    bytes: { toEndpoint: bytesToBackend, toClient: bytesToClient },
  });
  return {
    frontends: traffic.map(({ port, ...sum }) => ({ port, frontend: ANY_FRONTEND, ...counted(sum) })),
    endpoints: traffic.flatMap(({ port, backends }) =>
      [...backends].map(([endpoint, sum]) => ({ port, frontend: ANY_FRONTEND, endpoint, ...counted(sum) })),
    ),
  };
}
