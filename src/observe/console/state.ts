// What the console shows, kept as it happens. In: reports of syncs, and what went wrong. Out: the latest model and plan of each
// family, and the last changes and troubles. It holds what the agent holds anyway, and two short lists.
import type { Clock } from '../../lib/clock.ts';
import type { Family } from '../../lib/ip.ts';
import type { SyncReport } from '../../pipeline.ts';
import type { ChangeShape, ConsoleEvents, TroubleShape } from './shapes.ts';

const KEPT = 200;
const NAMED_SERVICES = 12;

export type ConsoleListener = <Name extends keyof ConsoleEvents>(name: Name, data: ConsoleEvents[Name]) => void;

export class ConsoleState {
  readonly #clock: Pick<Clock, 'wallNow'>;
  #reports: ReadonlyMap<Family, SyncReport> = new Map();
  readonly #listeners = new Set<ConsoleListener>();
  #changes: readonly ChangeShape[] = [];
  #troubles: readonly TroubleShape[] = [];
  #lastNumber = 0;

  constructor(clock: Pick<Clock, 'wallNow'>) {
    this.#clock = clock;
  }

  /** The last sync of each family. */
  get reports(): ReadonlyMap<Family, SyncReport> {
    return this.#reports;
  }

  /** Youngest first. */
  get changes(): readonly ChangeShape[] {
    return this.#changes;
  }

  get troubles(): readonly TroubleShape[] {
    return this.#troubles;
  }

  synced(report: SyncReport): void {
    const reports = new Map(this.#reports).set(report.family, report);
    this.#reports = new Map([...reports].sort(([a], [b]) => (a < b ? -1 : 1)));
    this.#mend(report.family);
    if (report.model.changed.size === 0 && !report.wasFull) return;
    const change = this.#changeOf(report);
    this.#changes = [change, ...this.#changes].slice(0, KEPT);
    this.#tell('change', change);
  }

  trouble(family: Family, kind: TroubleShape['kind'], text: string): void {
    const number = ++this.#lastNumber;
    const trouble = { number, at: this.#clock.wallNow(), family, kind, text, mendedAt: undefined };
    this.#troubles = [trouble, ...this.#troubles].slice(0, KEPT);
    this.#tell('trouble', trouble);
  }

  listen(listener: ConsoleListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A successful sync leaves the kernel as planned, whatever was wrong before. */
  #mend(family: Family): void {
    const isOpen = (trouble: TroubleShape): boolean => trouble.family === family && trouble.mendedAt === undefined;
    if (!this.#troubles.some(isOpen)) return;
    const mendedAt = this.#clock.wallNow();
    this.#troubles = this.#troubles.map((trouble) => (isOpen(trouble) ? { ...trouble, mendedAt } : trouble));
    for (const trouble of this.#troubles) if (trouble.mendedAt === mendedAt) this.#tell('trouble', trouble);
  }

  #changeOf({ family, model, wasFull, stages, snapshot }: SyncReport): ChangeShape {
    const at = this.#clock.wallNow();
    const services: string[] = [];
    for (const name of model.changed) {
      if (services.length === NAMED_SERVICES) break;
      services.push(name);
    }
    const oldest = snapshot.triggerTimes.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
    return {
      number: ++this.#lastNumber,
      at,
      family,
      services,
      changed: model.changed.size,
      wasFull,
      stages: stages.map(({ name, atMs }, i) => ({ name, ms: atMs - (stages[i - 1]?.atMs ?? 0) })),
      totalMs: stages.at(-1)?.atMs ?? 0,
      // What changed before the agent began to watch says nothing about the agent.
      sinceChangeMs: Number.isFinite(oldest) && !snapshot.isFresh ? Math.max(0, at - oldest) : undefined,
    };
  }

  #tell<Name extends keyof ConsoleEvents>(name: Name, data: ConsoleEvents[Name]): void {
    for (const listener of this.#listeners) listener(name, data);
  }
}
