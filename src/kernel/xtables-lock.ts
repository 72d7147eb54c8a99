// Legacy iptables takes one lock for all tables. Who holds it is in /proc/locks, if that process is visible from here.
import { readFileSync, statSync } from 'node:fs';

export const LOCK_FILE = process.env.XTABLES_LOCKFILE ?? '/run/xtables.lock';

/** `iptables-restore (pid 4711)`, or undefined where it cannot be known. */
export function xtablesLockHolder(): string | undefined {
  try {
    const inode = statSync(LOCK_FILE).ino;
    const pid = holderPid(readFileSync('/proc/locks', 'utf8'), inode);
    if (pid === undefined) return undefined;
    if (pid <= 0) return 'a process of another container';
    return `${readFileSync(`/proc/${pid}/comm`, 'utf8').trim()} (pid ${pid})`;
  } catch {
    return undefined; // the lock was released, or /proc does not show the process
  }
}

/** Lines of /proc/locks: `1: FLOCK  ADVISORY  WRITE 4711 00:19:1234 0 EOF`; those with `->` only wait. */
export function holderPid(locks: string, inode: number): number | undefined {
  for (const line of locks.split('\n')) {
    const match = /^\d+: FLOCK\s+\S+\s+\S+\s+(-?\d+) [0-9a-f]+:[0-9a-f]+:(\d+) /.exec(line);
    if (match && Number(match[2]) === inode) return Number(match[1]);
  }
  return undefined;
}
