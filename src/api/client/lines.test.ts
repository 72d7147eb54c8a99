import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ApiError } from './error.ts';
import { LineSplitter } from './lines.ts';

test('lines come out whole however the bytes are cut', () => {
  const line = fc
    .string({ unit: 'grapheme', minLength: 1 })
    .filter((text) => !text.includes('\n') && text.trim() !== '');
  fc.assert(
    fc.property(fc.array(line), fc.integer({ min: 1, max: 50 }), (lines, pieceBytes) => {
      const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(''));
      const got: string[] = [];
      const splitter = new LineSplitter();
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        splitter.push(bytes.subarray(at, at + pieceBytes), (text) => got.push(text));
      }
      assert.deepEqual(got, lines);
      assert.equal(splitter.pendingBytes, 0);
    }),
  );
});

test('an unfinished line is held and counted', () => {
  const splitter = new LineSplitter();
  const got: string[] = [];
  splitter.push(Buffer.from('one\n\ntw'), (text) => got.push(text));
  assert.deepEqual(got, ['one']);
  assert.equal(splitter.pendingBytes, 2);
});

test('a line without end is refused before it fills the memory', () => {
  const splitter = new LineSplitter(10);
  splitter.push(Buffer.from('12345678'), () => {});
  assert.throws(() => splitter.push(Buffer.from('9012'), () => {}), ApiError);
});
