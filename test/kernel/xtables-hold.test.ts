import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { holdingXtablesLocks } from '../../src/kernel/xtables-hold.ts';
import { continueInSandbox } from '../../src/lab/sandbox.ts';

continueInSandbox(import.meta.url);
const FILE = '/run/xtables.lock';

before(() => spawnSync('touch', [FILE]));

/** `flock -n` ends with 1 if somebody has the lock. */
const isFree = (): boolean => spawnSync('flock', ['-n', FILE, 'true']).status === 0;

test('the file is locked while the work is done, and free afterwards, also after a failure', async () => {
  assert.equal(isFree(), true);
  assert.equal(await holdingXtablesLocks(async () => isFree()), false);
  await assert.rejects(
    holdingXtablesLocks(() => Promise.reject(new Error('no'))),
    /no/,
  );
  assert.equal(isFree(), true);
});

test('iptables-legacy waits while we hold it', async () => {
  const status = await holdingXtablesLocks(
    async () => spawnSync('iptables-legacy', ['-w', '1', '-t', 'nat', '-N', 'X']).status,
  );
  assert.equal(status, 4);
  assert.equal(spawnSync('iptables-legacy', ['-w', '1', '-t', 'nat', '-N', 'X']).status, 0);
});

test('who holds it for too long is named', async () => {
  const other = spawn('flock', [FILE, 'sleep', '30']);
  try {
    while (isFree()) await delay(20);
    await assert.rejects(
      holdingXtablesLocks(async () => undefined),
      /not free within 2 s; (flock|sleep) \(pid \d+\) holds it/,
    );
  } finally {
    other.kill();
    await once(other, 'exit');
    spawnSync('pkill', ['-f', 'sleep 30']);
  }
});
