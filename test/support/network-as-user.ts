// Starts a Node program as an ordinary user, whoever runs the tests.
import { spawnSync } from 'node:child_process';

const ORDINARY = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'];

/** The command that runs a file without root; undefined where an ordinary user may not read this folder. */
export function asOrdinaryUser(file: string): readonly [string, ...string[]] | undefined {
  if (process.getuid?.() !== 0) return asOurselves(file);
  const [program, ...args] = ORDINARY;
  const canRead = [file, process.execPath].every(
    (path) => spawnSync(program!, [...args, 'test', '-r', path]).status === 0,
  );
  return canRead ? [program!, ...args, ...asOurselves(file)] : undefined;
}

export function asOurselves(file: string): readonly [string, ...string[]] {
  return [process.execPath, '--disable-warning=ExperimentalWarning', file];
}
