// A mode at work in one family: its pure half joined with the drivers, behind one interface for all modes.
import { withoutRetired } from '../flows/targets.ts';
import type { Iptables } from '../kernel/iptables.ts';
import type { Clock } from '../lib/clock.ts';
import type { Family } from '../lib/ip.ts';
import type { NodeModel } from '../model/model.ts';
import type { NodeIdentity } from '../model/resolve.ts';
import type { ModeName } from '../modes/mode.ts';
import type { RelayedConnections } from '../modes/userspace/relay-host.ts';
import type { NodeSettings } from '../node/facts.ts';
import type { Log } from '../observe/log.ts';
import type { ProxyMetrics } from '../observe/proxy-metrics.ts';
import type { CountedServices } from '../observe/service-metrics.ts';
import { type FamilyState, NOTHING_OWED, type Owed, type SyncReport, sync } from '../pipeline.ts';
import type { Tracker } from '../track/tracker.ts';

/** What every mode is given. */
export interface RuntimeOptions {
  readonly family: Family;
  readonly tracker: Tracker;
  readonly identity: NodeIdentity;
  readonly settings: NodeSettings;
}

/** And modes whose rules are iptables', which tells nobody of changes, so that it has to be looked at now and then. */
export interface RulesRuntimeOptions extends RuntimeOptions {
  readonly iptables: Iptables;
  readonly syncPeriodMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

export interface ModeRuntime {
  readonly name: ModeName;
  sync(): Promise<SyncReport>;
  /** It is known what the kernel holds, so the next sync writes only what changed. */
  knowsKernel(): boolean;
  /** The rules last planned, as the mode's own tool would write them. */
  print(): string;
  /** What was last resolved, also if it could not be applied. */
  model(): NodeModel | undefined;
  /** What is owed to those who wait for a successful sync; taking it clears it. */
  takeOwed(): Owed;
  /** All stale flows are gone, so what was retired need not be looked for again. */
  flowsCleaned(): void;
  /** The kernel may hold something else than was written: the next sync reads it first. */
  distrust(): void;
  /** True if an hourly look at the kernel is affordable. */
  readonly checksHourly: boolean;
  /** Watches the kernel for foreign hands until the signal is aborted. */
  watch(listener: ForeignHands, signal: AbortSignal): Promise<void>;
  /** Sets the metrics that only this mode has. */
  measure(metrics: ProxyMetrics): void;
  countFailure(metrics: ProxyMetrics, wasFull: boolean): void;
  /** Connections of each Service; absent where nothing counts them. */
  counts?(): Promise<CountedServices>;
  /** Every connection; only where the agent itself holds them. */
  connections?(): Promise<RelayedConnections>;
}

export interface ForeignHands {
  /** Somebody else changed our rules: they are to be restored. */
  changed(what: string): void;
  /** It is not known whether somebody did: the next sync has to look. */
  doubted(why: string): void;
  /** What is no longer needed could not be deleted: the next sync has to look. */
  leftBehind(what: string): void;
}

/** A family of which nothing has been written yet. */
export function untouched<Facts, Plan, Held, Change, Drivers>(
  { family, tracker, identity }: RuntimeOptions,
  own: Pick<FamilyState<Facts, Plan, Held, Change, Drivers>, 'mode' | 'drivers' | 'probe'>,
): FamilyState<Facts, Plan, Held, Change, Drivers> {
  return { family, tracker, identity, ...own, held: undefined, owed: NOTHING_OWED };
}

/** What all modes do alike. */
export function commonRuntime<Facts, Plan, Held, Change, Drivers>(
  state: FamilyState<Facts, Plan, Held, Change, Drivers>,
  onReport: (report: SyncReport<Plan, Change>) => void,
): Pick<ModeRuntime, 'name' | 'sync' | 'knowsKernel' | 'print' | 'model' | 'takeOwed' | 'flowsCleaned' | 'distrust'> {
  let isDistrusted = false;
  return {
    name: state.mode.name,
    sync: async () => {
      isDistrusted = false;
      const report = await sync(state);
      if (isDistrusted) state.held = undefined; // said while this sync ran, which set out from what was held before
      onReport(report);
      return report;
    },
    knowsKernel: () => state.held !== undefined,
    print: () => (state.plan === undefined ? '' : state.mode.print(state.plan)),
    model: () => state.model,
    takeOwed: () => {
      const { owed } = state;
      state.owed = NOTHING_OWED;
      return owed;
    },
    flowsCleaned: () => {
      if (state.flows) state.flows = withoutRetired(state.flows);
    },
    distrust: () => {
      isDistrusted = true;
      state.held = undefined;
    },
  };
}
