import assert from 'node:assert/strict';
import { test } from 'node:test';
import { age, humanDuration } from './duration.ts';

test('durations are told in two units while they are short and in one when they are long', () => {
  const texts = [0, 119, 125, 600, 7200, 10_800, 11_160, 100_000, 300_000, 1_000_000, 70_000_000].map(humanDuration);
  assert.deepEqual(texts, ['0s', '119s', '2m5s', '10m', '120m', '3h', '3h6m', '27h', '3d11h', '11d', '2y80d']);
});

test('an age without a time is unknown', () => {
  assert.equal(age(undefined, new Date()), '<unknown>');
  assert.equal(age('2026-01-01T00:00:00Z', new Date('2026-01-01T00:00:45Z')), '45s');
});
