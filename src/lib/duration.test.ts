import assert from 'node:assert/strict';
import test from 'node:test';
import {
  formatDuration,
  HOUR,
  inMilliseconds,
  inWholeSeconds,
  MILLISECOND,
  MINUTE,
  parseDuration,
  SECOND,
} from './duration.ts';

test('a duration is read in every unit, with fractions and sequences', () => {
  const examples: [string, bigint][] = [
    ['0', 0n],
    ['0s', 0n],
    ['300ms', 300n * MILLISECOND],
    ['1m30s', 90n * SECOND],
    ['2h22m', 2n * HOUR + 22n * MINUTE],
    ['1.5h', 90n * MINUTE],
    ['.5s', 500n * MILLISECOND],
    ['1.s', SECOND],
    ['-1s', -SECOND],
    ['+5m', 5n * MINUTE],
    ['7us', 7_000n],
    ['7\u00b5s', 7_000n],
    ['7\u03bcs', 7_000n],
    ['1.0000000019s', SECOND + 1n],
    ['-9223372036854775808ns', -(1n << 63n)],
  ];
  for (const [text, duration] of examples) assert.deepEqual(parseDuration(text), { duration }, text);
});

test('text that is no duration is refused with the reason', () => {
  const problems: [string, string][] = [
    ['', 'time: invalid duration ""'],
    ['-', 'time: invalid duration "-"'],
    ['x', 'time: invalid duration "x"'],
    ['.s', 'time: invalid duration ".s"'],
    ['10', 'time: missing unit in duration "10"'],
    ['1m30', 'time: missing unit in duration "1m30"'],
    ['3d', 'time: unknown unit "d" in duration "3d"'],
    ['1 s', 'time: unknown unit " s" in duration "1 s"'],
    ['9223372036854775808ns', 'time: invalid duration "9223372036854775808ns"'],
  ];
  for (const [text, problem] of problems) assert.deepEqual(parseDuration(text), { problem }, text);
});

test('a duration is written with hours, minutes and seconds, or with one small unit', () => {
  const examples: [bigint, string][] = [
    [0n, '0s'],
    [SECOND, '1s'],
    [30n * SECOND, '30s'],
    [15n * MINUTE, '15m0s'],
    [24n * HOUR, '24h0m0s'],
    [HOUR, '1h0m0s'],
    [90n * SECOND + 500n * MILLISECOND, '1m30.5s'],
    [1_500n, '1.5\u00b5s'],
    [250n * MILLISECOND, '250ms'],
    [1n, '1ns'],
    [-SECOND, '-1s'],
  ];
  for (const [duration, text] of examples) assert.equal(formatDuration(duration), text);
});

test('timers get milliseconds and the kernel gets whole seconds', () => {
  assert.equal(inMilliseconds(1_500_000n), 1.5);
  assert.equal(inWholeSeconds(1_999n * MILLISECOND), 1);
});
