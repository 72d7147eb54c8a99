// The syncs of one IP family, one after another: run, measure, tell health, and pay what a success owes.

import type { FlowTargets } from '../flows/targets.ts';
import { KernelError } from '../kernel/error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Family } from '../lib/ip.ts';
import { Runner } from '../lib/runner.ts';
import type { NodeModel } from '../model/model.ts';
import type { RelayedConnections } from '../modes/userspace/relay-host.ts';
import type { Log } from '../observe/log.ts';
import type { PortolanMetrics } from '../observe/portolan-metrics.ts';
import type { ProxyMetrics } from '../observe/proxy-metrics.ts';
import type { HealthCheckedService, ServiceHealthServers } from '../observe/service-health.ts';
import type { CountedServices } from '../observe/service-metrics.ts';
import type { SyncReport } from '../pipeline.ts';
import type { ModeRuntime } from './runtime.ts';

export interface FamilyLoopOptions {
  readonly family: Family;
  readonly runtime: ModeRuntime;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: ProxyMetrics;
  readonly portolanMetrics: PortolanMetrics;
  readonly serviceHealth: ServiceHealthServers;
  readonly minSyncPeriodMs: number;
  readonly syncPeriodMs: number;
  /** Remove flows that lead nowhere; resolve to how many. */
  readonly deleteStaleFlows: (flows: FlowTargets) => Promise<number>;
  readonly deleteStrayConnections: (model: NodeModel) => Promise<number>;
  readonly onQueued: (family: Family) => void;
  readonly onUpdated: (family: Family) => void;
  readonly onReport: (report: SyncReport) => void;
  readonly onFirstSync: (family: Family) => void;
  /** Something went wrong on this node; the loop sets about mending it. */
  readonly onTrouble: (family: Family, kind: 'drift' | 'sync-failed', text: string) => void;
}

const HOUR_MS = 3_600_000;

export class FamilyLoop {
  readonly #options: FamilyLoopOptions;
  readonly #runner: Runner;
  readonly #startedAtWall: number;
  #lastFullAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #hasSynced = false;
  #isSyncing = false;
  /** Flows are to be cleaned up; both stay set until that worked. */
  #owesStaleFlows = false;
  #owesStrayFlows = false;
  #drift = 0;

  constructor(options: FamilyLoopOptions) {
    this.#options = options;
    this.#startedAtWall = options.clock.wallNow();
    this.#runner = new Runner({
      run: () => this.#sync(),
      pauseMs: options.minSyncPeriodMs,
      retryMs: options.syncPeriodMs,
      idleMs: HOUR_MS,
      clock: options.clock,
    });
  }

  /** How often the kernel was found to hold something else than was written. */
  get drift(): number {
    return this.#drift;
  }

  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Connections of each Service; undefined where nothing counts them. */
  counts(): Promise<CountedServices> | undefined {
    return this.#options.runtime.counts?.();
  }

  /** Every connection; undefined where the kernel has them. */
  connections(): Promise<RelayedConnections> | undefined {
    return this.#options.runtime.connections?.();
  }

  /** What was last synced; undefined while a sync is under way or has failed. */
  get syncedModel(): NodeModel | undefined {
    return this.#isSyncing || this.#failures > 0 || !this.#hasSynced ? undefined : this.#options.runtime.model();
  }

  /** Reads the kernel and writes what is wrong. */
  repair(): void {
    this.#options.runtime.distrust();
    this.requestSync();
  }

  requestSync(): void {
    const { family, metrics, clock, onQueued } = this.#options;
    metrics.lastQueuedTimestamp.of({ ip_family: family }).set(clock.wallNow() / 1000);
    onQueued(family);
    this.#runner.request();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { family, runtime, onUpdated, onTrouble, metrics, clock, log } = this.#options;
    onUpdated(family);
    metrics.lastQueuedTimestamp.of({ ip_family: family }).set(clock.wallNow() / 1000);
    const doubted = (why: string): void => {
      log.info('Comparing the rules with what they should be', { ipFamily: family, why }, 2);
      this.repair();
    };
    const watching = runtime.watch(
      {
        changed: (what) => {
          this.#drift++;
          onTrouble(family, 'drift', `rules were changed by somebody else: ${what}`);
          log.warning('Rules were changed by somebody else and are being restored', { ipFamily: family, what });
          this.repair();
        },
        doubted,
        leftBehind: (what) => {
          metrics.nftablesCleanupFailures.of({ ip_family: family }).increment();
          doubted(what);
        },
      },
      signal,
    );
    await Promise.all([this.#runner.loop(signal), watching]);
  }

  async #sync(): Promise<boolean> {
    const { family, runtime, clock, log, metrics, portolanMetrics, syncPeriodMs } = this.#options;
    const startedAt = clock.now();
    if (runtime.checksHourly && startedAt - this.#lastFullAt > HOUR_MS) runtime.distrust();
    let isFull = !runtime.knowsKernel();
    this.#isSyncing = true;
    try {
      const report = await runtime.sync();
      isFull = report.wasFull;
      if (isFull) this.#lastFullAt = startedAt;
      if (this.#failures > 0) log.info('Sync works again', { ipFamily: family, failedBefore: this.#failures });
      this.#failures = 0;
      return await this.#succeeded(report);
    } catch (error) {
      this.#failures++;
      const code = error instanceof KernelError ? error.code : 'UNKNOWN';
      portolanMetrics.syncFailures.of({ ip_family: family, code }).increment();
      runtime.countFailure(metrics, isFull);
      this.#options.onTrouble(family, 'sync-failed', error instanceof Error ? error.message : String(error));
      log.error(error, 'Sync failed', {
        ipFamily: family,
        retryingAfter: `${syncPeriodMs / 1000}s`,
        failures: this.#failures,
      });
      return false;
    } finally {
      this.#isSyncing = false;
      const seconds = (clock.now() - startedAt) / 1000;
      metrics.syncDuration.of({ ip_family: family }).observe(seconds);
      const kind = isFull ? metrics.syncFullDuration : metrics.syncPartialDuration;
      kind.of({ ip_family: family }).observe(seconds);
    }
  }

  /** False if what a success owes could not be paid, so that it is tried again. */
  async #succeeded(report: SyncReport): Promise<boolean> {
    const { family, runtime, clock, log, metrics, serviceHealth, onUpdated, onReport } = this.#options;
    const { model } = report;
    const owed = runtime.takeOwed();
    if (!this.#hasSynced) this.#options.onFirstSync(family);
    this.#hasSynced = true;
    onUpdated(family);
    metrics.lastSyncTimestamp.of({ ip_family: family }).set(clock.wallNow() / 1000);
    for (const time of owed.triggerTimes) {
      if (time > this.#startedAtWall)
        metrics.networkProgrammingDuration.of({ ip_family: family }).observe((clock.wallNow() - time) / 1000);
    }
    const counted = runtime.name === 'ipvs' ? 'services' : 'ports'; // as upstream does
    for (const policy of ['internal', 'external'] as const) {
      metrics.noLocalEndpoints
        .of({ traffic_policy: policy, ip_family: family })
        .set(model.withoutLocalEndpoints[policy][counted]);
    }
    runtime.measure(metrics);
    onReport(report);
    log.info(
      'Synced',
      {
        ipFamily: family,
        services: model.services.size,
        changed: model.changed.size,
        full: report.wasFull,
        ms: Math.round(report.stages.at(-1)?.atMs ?? 0),
      },
      2,
    );
    this.#logDetails(model);
    const listensEverywhere = await serviceHealth.sync(healthCheckedServices(model));
    this.#owesStrayFlows ||= owed.strayFlows;
    this.#owesStaleFlows ||= owed.staleFlows || this.#owesStrayFlows;
    if (this.#owesStaleFlows) await this.#cleanFlows(report);
    return listensEverywhere && !this.#owesStaleFlows;
  }

  #logDetails(model: NodeModel): void {
    const { family, runtime, log } = this.#options;
    if (log.isEnabled(4) && model.changed.size > 0)
      log.info('Changed', { ipFamily: family, services: model.changed }, 4);
    if (log.isEnabled(5)) log.info('Rules', { ipFamily: family, rules: runtime.print() }, 5);
  }

  async #cleanFlows({ flows, model }: SyncReport): Promise<void> {
    const { family, runtime, clock, log, metrics, deleteStaleFlows, deleteStrayConnections } = this.#options;
    const startedAt = clock.now();
    const count = (deleted: number, what: string): void => {
      metrics.conntrackDeletedEntries.of({ ip_family: family }).increment(deleted);
      if (deleted > 0) log.info(`Deleted ${what}`, { ipFamily: family, count: deleted }, 2);
    };
    try {
      count(await deleteStaleFlows(flows), 'stale UDP flows');
      runtime.flowsCleaned();
      if (this.#owesStrayFlows) count(await deleteStrayConnections(model), 'unanswered TCP connections to nowhere');
      this.#owesStrayFlows = false;
      this.#owesStaleFlows = false;
    } catch (error) {
      log.error(error, 'Stale flows could not be removed; clients may be led to endpoints that are gone', {
        ipFamily: family,
      });
    } finally {
      metrics.conntrackSyncDuration.of({ ip_family: family }).observe((clock.now() - startedAt) / 1000);
    }
  }
}

function* healthCheckedServices(model: NodeModel): Generator<HealthCheckedService> {
  for (const { namespace, name, healthCheckNodePort, localReadyEndpoints } of model.healthChecked.values()) {
    yield { namespace, name, port: healthCheckNodePort, localEndpoints: localReadyEndpoints };
  }
}
