// Holds the two locks that other iptables programs wait for, on behalf of an iptables-restore (before 1.6.2) that takes none itself: a
// lock on a file, and, for yet older ones, an abstract Unix socket.
import { closeSync, openSync } from 'node:fs';
import net from 'node:net';
import koffi from 'koffi';
import { type Clock, systemClock } from '../lib/clock.ts';
import { KernelError } from './error.ts';
import { LOCK_FILE, xtablesLockHolder } from './xtables-lock.ts';

const flock = koffi.load(null).func('int flock(int fd, int operation)');
const LOCK_EX_NB = 2 | 4; // sys/file.h
const SOCKET = '\0xtables';
const PATIENCE_MS = 2000;
const RETRY_MS = 200;

export async function holdingXtablesLocks<T>(work: () => Promise<T>, clock: Clock = systemClock): Promise<T> {
  const releases: (() => void)[] = [];
  try {
    for (const take of [takeFile, takeSocket]) releases.push(await taken(take, clock));
    return await work();
  } finally {
    for (const release of releases) release();
  }
}

/** Undefined: somebody else has it. */
type Take = () => Promise<(() => void) | undefined>;

async function taken(take: Take, clock: Clock): Promise<() => void> {
  const deadline = clock.now() + PATIENCE_MS;
  for (;;) {
    const release = await take();
    if (release) return release;
    if (clock.now() >= deadline) break;
    await clock.wait(RETRY_MS);
  }
  const holder = xtablesLockHolder();
  const detail = `the xtables lock was not free within ${PATIENCE_MS / 1000} s${holder ? `; ${holder} holds it` : ''}`;
  throw new KernelError('LOCK_TIMEOUT', { operation: 'iptables-restore', detail });
}

const takeFile: Take = async () => {
  const descriptor = openSync(LOCK_FILE, 'a', 0o600);
  const release = (): void => closeSync(descriptor);
  if (flock(descriptor, LOCK_EX_NB) === 0) return release;
  release();
  return undefined;
};

const takeSocket: Take = () =>
  new Promise((resolve) => {
    const server = net.createServer((socket) => socket.destroy());
    server.once('error', () => resolve(undefined));
    server.listen(SOCKET, () => resolve(() => server.close()));
  });
