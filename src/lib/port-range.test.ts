import assert from 'node:assert/strict';
import { test } from 'node:test';
import { candidates, parsePortRange } from './port-range.ts';

test('ranges are read as upstream reads them', () => {
  assert.deepEqual(parsePortRange('30000-30010'), { first: 30000, last: 30010 });
  assert.deepEqual(parsePortRange('30000+10'), { first: 30000, last: 30010 });
  assert.deepEqual(parsePortRange('30000'), { first: 30000, last: 30000 });
  for (const text of ['', '0', '0-0', ' ']) assert.equal(parsePortRange(text), 'any');
  for (const text of ['a', '5-4', '65536', '1-65536', '-3', '1-2-3']) assert.equal(parsePortRange(text), undefined);
});

test('every port of a range is tried once, from anywhere and around', () => {
  assert.deepEqual([...candidates({ first: 10, last: 13 }, () => 0.5)], [12, 13, 10, 11]);
});
