import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../../lib/clock.ts';
import { RateLimit } from './rate-limit.ts';

function steppingClock(): Clock & { pass(ms: number): void } {
  let now = 0;
  return {
    now: () => now,
    wallNow: () => now,
    wait: async (ms) => {
      now += ms;
    },
    pass: (ms) => {
      now += ms;
    },
  };
}

test('a burst is free, what follows comes at the rate, and time refills the bucket', async () => {
  const clock = steppingClock();
  const limit = new RateLimit(5, 3, clock);
  const waits: number[] = [];
  for (let i = 0; i < 5; i++) waits.push(await limit.take());
  assert.deepEqual(waits, [0, 0, 0, 200, 200]);
  clock.pass(60_000);
  assert.equal(await limit.take(), 0);
});

test('requests that come together wait in line', async () => {
  const waits: number[] = [];
  const clock: Clock = { now: () => 0, wallNow: () => 0, wait: async (ms) => void waits.push(Math.round(ms)) };
  const limit = new RateLimit(10, 1, clock);
  await Promise.all([limit.take(), limit.take(), limit.take()]);
  assert.deepEqual(waits, [100, 200]);
});

test('a negative rate is no limit', async () => {
  const limit = new RateLimit(-1, 1, steppingClock());
  for (let i = 0; i < 100; i++) assert.equal(await limit.take(), 0);
});

test('zero is the default: ten at once, then five a second', async () => {
  const limit = new RateLimit(0, 0, steppingClock());
  const waits: number[] = [];
  for (let i = 0; i < 12; i++) waits.push(await limit.take());
  assert.deepEqual(waits, [...Array(10).fill(0), 200, 200]);
});
