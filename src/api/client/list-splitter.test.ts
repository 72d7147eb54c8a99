import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ListSplitter } from './list-splitter.ts';

function split(text: string, pieceBytes: number): { items: unknown[]; envelope: unknown } {
  const items: unknown[] = [];
  const splitter = new ListSplitter((json) => items.push(JSON.parse(json)));
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) splitter.push(bytes.subarray(at, at + pieceBytes));
  return { items, envelope: splitter.end() };
}

test('any list, in pieces of any size, comes out as its items and what surrounds them', () => {
  const item = fc.dictionary(fc.string(), fc.jsonValue());
  const list = fc.record({ kind: fc.string(), metadata: fc.jsonValue(), items: fc.array(item), after: fc.jsonValue() });
  fc.assert(
    fc.property(list, fc.integer({ min: 1, max: 200 }), fc.constantFrom(0, 2), (document, pieceBytes, indent) => {
      const { items, envelope } = split(JSON.stringify(document, undefined, indent), pieceBytes);
      const plain = JSON.parse(JSON.stringify(document));
      assert.deepEqual(items, plain.items);
      assert.deepEqual(envelope, { ...plain, items: [] });
    }),
  );
});

test('only the top level has items that count', () => {
  const text = '{"kind":"items","a":{"items":[{"x":1}]},"b":["items",[{"y":2}]],"items":[{"items":[{"z":3}]}]}';
  const { items, envelope } = split(text, 7);
  assert.deepEqual(items, [{ items: [{ z: 3 }] }]);
  assert.deepEqual(envelope, { kind: 'items', a: { items: [{ x: 1 }] }, b: ['items', [{ y: 2 }]], items: [] });
});

test('a list without items, or with null, is empty', () => {
  assert.deepEqual(split('{"metadata":{},"items":null}', 5), { items: [], envelope: { metadata: {}, items: null } });
  assert.deepEqual(split('{"metadata":{}}', 5).items, []);
});

test('a document that ends in the middle is an error, not a shorter list', () => {
  assert.throws(() => split('{"metadata":{"resourceVersion":"5"},"items":[{"a":1},', 5), SyntaxError);
  assert.throws(() => split('', 1), SyntaxError);
});
