import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Backoff } from './watch-backoff.ts';

test('waits double up to 30 s times a random factor, and start small after two calm minutes', () => {
  let now = 0;
  const clock = { now: () => now, wallNow: () => 0, wait: async () => {} };
  const backoff = new Backoff(clock, () => 0);
  assert.deepEqual(
    Array.from({ length: 7 }, () => backoff.next()),
    [800, 1600, 3200, 6400, 12_800, 25_600, 30_000],
  );
  now += 119_000;
  assert.equal(backoff.next(), 30_000);
  now += 121_000;
  assert.equal(backoff.next(), 800);
  assert.equal(new Backoff(clock, () => 0.999).next() < 1600, true);
});
