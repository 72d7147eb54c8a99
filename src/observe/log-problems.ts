// Says each oddity of the cluster once. In: the problems that exist now. Out: a warning for each that is new, and a note
// for each that is gone; so a bad object is one line in the log and not one line per sync.
import type { Problem } from '../api/objects.ts';
import type { Log } from './log.ts';

export interface ProblemLog {
  report(problems: readonly Problem[]): void;
}

export function createProblemLog(log: Log): ProblemLog {
  let known = new Map<string, Problem>();
  return {
    report(problems) {
      const current = new Map(
        problems.map((problem) => [`${problem.object} ${problem.field} ${problem.reason}`, problem]),
      );
      for (const [key, { object, field, reason }] of current) {
        if (!known.has(key)) log.warning('Ignoring part of an object', { object, field, reason });
      }
      for (const [key, { object, field }] of known) {
        if (!current.has(key)) log.info('Object was corrected or removed', { object, field }, 1);
      }
      known = current;
    },
  };
}
