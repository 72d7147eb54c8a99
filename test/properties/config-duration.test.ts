import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { formatDuration, parseDuration } from '../../src/lib/duration.ts';

test('every duration is read back from its own text', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }), (duration) => {
      assert.deepEqual(parseDuration(formatDuration(duration)), { duration });
    }),
  );
});

test('a duration that was read is written in a form that reads the same', () => {
  const number = fc
    .tuple(fc.nat(9999), fc.option(fc.nat(999_999)))
    .map(([a, b]) => (b === null ? `${a}` : `${a}.${b}`));
  const unit = fc.constantFrom('ns', 'us', '\u00b5s', 'ms', 's', 'm', 'h');
  const text = fc.array(fc.tuple(number, unit), { minLength: 1, maxLength: 4 }).map((parts) => parts.flat().join(''));
  fc.assert(
    fc.property(fc.constantFrom('', '-', '+'), text, (sign, parts) => {
      const parsed = parseDuration(sign + parts);
      assert.ok('duration' in parsed);
      assert.deepEqual(parseDuration(formatDuration(parsed.duration)), parsed);
    }),
  );
});

test('no text makes the reader throw', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const parsed = parseDuration(text);
      assert.ok('duration' in parsed || parsed.problem.startsWith('time: '));
    }),
  );
});
