import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

test('docs/errors.md lists every code, and no other', () => {
  const sources = ['src/kernel/error.ts', 'src/api/client/error.ts'].map(read);
  const codes = sources.flatMap((text) => [...text.matchAll(/^ {2}\| '([A-Z_]+)'/gm)].map((match) => match[1]));
  const listed = [...read('docs/errors.md').matchAll(/^\| `([A-Z_]+)` /gm)].map((match) => match[1]);
  assert.ok(codes.length > 10);
  assert.deepEqual(listed.toSorted(), codes.toSorted());
});
