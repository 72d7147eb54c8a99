// A mode at work in one family: its pure half joined with the drivers, behind one interface for all modes.

import type { NodeModel } from '../model/model.ts';
import type { ModeName } from '../modes/mode.ts';
import type { ProxyMetrics } from '../observe/proxy-metrics.ts';
import type { Owed, SyncReport } from '../pipeline.ts';

export interface ModeRuntime {
  readonly name: ModeName;
  sync(): Promise<SyncReport>;
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
  watch(onForeignChange: (what: string) => void, signal: AbortSignal): Promise<void>;
  /** Sets the metrics that only this mode has. */
  measure(metrics: ProxyMetrics, report: SyncReport): void;
  countFailure(metrics: ProxyMetrics, wasFull: boolean): void;
}
