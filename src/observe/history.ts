// The last changes that reached the kernel, for those who ask: `portolan explain` on the node. In: reports of syncs. Out: a short
// list, newest first.
import type { SyncReport } from '../pipeline.ts';

export interface ChangeRecord {
  /** When the kernel had it, RFC 3339. */
  readonly at: string;
  readonly family: string;
  /** Names of the services that changed; only the first of many. */
  readonly services: readonly string[];
  readonly wasFull: boolean;
  /** Each stage with the milliseconds it took. */
  readonly stages: Readonly<Record<string, number>>;
  /** From the oldest change of an endpoint in the cluster to the kernel, where the cluster says when that was. */
  readonly sinceChangeMs?: number;
}

/** What an agent tells over its lock's socket. */
export interface AgentNews {
  readonly changes: readonly ChangeRecord[];
}

const MOST_RECORDS = 100;
const MOST_NAMES = 20;

export class ChangeHistory {
  #records: readonly ChangeRecord[] = [];

  get records(): readonly ChangeRecord[] {
    return this.#records;
  }

  add(report: SyncReport, wallNow: number): void {
    if (report.model.changed.size > 0)
      this.#records = [recordOf(report, wallNow), ...this.#records].slice(0, MOST_RECORDS);
  }
}

function recordOf({ family, model, snapshot, wasFull, stages }: SyncReport, wallNow: number): ChangeRecord {
  const lengths = stages.map(({ name, atMs }, i) => [name, round(atMs - (stages[i - 1]?.atMs ?? 0))] as const);
  return {
    at: new Date(wallNow).toISOString(),
    family,
    services: [...model.changed].slice(0, MOST_NAMES),
    wasFull,
    stages: Object.fromEntries(lengths),
    ...(snapshot.triggerTimes.length > 0 &&
      !wasFull && { sinceChangeMs: round(wallNow - Math.min(...snapshot.triggerTimes)) }),
  };
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
