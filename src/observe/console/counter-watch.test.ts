import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../../lib/clock.ts';
import { CounterWatch, ratesShape, type Sample } from './counter-watch.ts';

/** Time goes on when somebody waits, and only then. */
function fakeClock(): Clock & { readonly waits: number[] } {
  const waits: number[] = [];
  let now = 0;
  return {
    waits,
    now: () => now,
    wallNow: () => 1_000_000 + now,
    wait: async (ms) => {
      waits.push(ms);
      now += ms;
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

async function samples(counts: readonly number[]): Promise<readonly Sample[]> {
  const seen: Sample[] = [];
  let at = 0;
  const watch = new CounterWatch({
    clock: fakeClock(),
    read: async () => new Map([['edge', counts[at++] ?? 0]]),
    onError: (error) => assert.fail(String(error)),
  });
  await new Promise<void>((resolve) => {
    const end = watch.watch((sample) => {
      seen.push(sample);
      if (seen.length < counts.length) return;
      end();
      resolve();
    });
  });
  return seen;
}

test('a rate is what was counted since the last look, by the time that passed', async () => {
  const rates = (await samples([100, 110, 110, 140])).map(({ edges }) => edges.get('edge')!.rate);
  assert.deepEqual(rates, [0, 10, 0, 30]);
});

test('a rule that was written anew counts from 0 again', async () => {
  const rates = (await samples([100, 4])).map(({ edges }) => edges.get('edge')!.rate);
  assert.deepEqual(rates, [0, 4]);
});

test('counters are read while somebody watches, and not otherwise', async () => {
  let reads = 0;
  const clock = fakeClock();
  const watch = new CounterWatch({
    clock,
    read: async () => {
      reads++;
      return new Map();
    },
    onError: (error) => assert.fail(String(error)),
  });
  const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));
  await turn();
  assert.equal(reads, 0);
  const end = watch.watch(() => {});
  await turn();
  assert.ok(reads > 1);
  assert.ok(clock.waits.every((ms) => ms >= 1000));
  end();
  await turn();
  const before = reads;
  await turn();
  assert.equal(reads, before);
  assert.equal(watch.sample, undefined);
});

test('services get the sum of their addresses, the busiest first', () => {
  const edges = new Map([
    ['a', { rate: 1, count: 1 }],
    ['b', { rate: 2, count: 2 }],
    ['c', { rate: 5, count: 5 }],
    ['d', { rate: 0, count: 9 }],
  ]);
  const owners = new Map([
    ['a', 'shop/cart'],
    ['b', 'shop/cart'],
    ['c', 'shop/search'],
    ['d', 'shop/idle'],
  ]);
  const shape = ratesShape({ at: 7, edges }, owners, ['d', 'unknown']);
  assert.deepEqual(shape, {
    at: 7,
    services: [
      ['shop/search', 5],
      ['shop/cart', 3],
    ],
    total: 8,
    edges: { d: { rate: 0, count: 9 } },
  });
});
