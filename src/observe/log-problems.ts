// Says each oddity of the cluster once. In: the problems of an object as of now. Out: a warning for each that is new, and a note when
// all are gone; so a bad object is one line in the log and not one line per sync.
import type { Problem } from '../api/objects.ts';
import type { Log } from './log.ts';

export class ProblemLog {
  readonly #log: Log;
  /** By object; those without problems are absent. */
  readonly #known = new Map<string, readonly Problem[]>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Of all objects, as of now. */
  get all(): readonly Problem[] {
    return [...this.#known.values()].flat();
  }

  report(object: string, problems: readonly Problem[]): void {
    const before = new Set(this.#known.get(object)?.map(problemKey));
    for (const problem of problems)
      if (!before.has(problemKey(problem))) this.#log.warning('Ignoring part of an object', { ...problem });
    if (problems.length > 0) this.#known.set(object, problems);
    else if (this.#known.delete(object)) this.#log.info('Object was corrected or removed', { object }, 1);
  }
}

function problemKey({ field, reason }: Problem): string {
  return `${field} ${reason}`;
}
