import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ledger } from './ledger.ts';

test('a thing stays while anybody wants it', () => {
  const ledger = new Ledger<string>();
  ledger.claim('a', 'ip', 'ip');
  ledger.claim('b', 'ip', 'ip');
  ledger.release('a', 'ip');
  assert.equal(ledger.get('ip'), 'ip');
  ledger.release('b', 'ip');
  assert.equal(ledger.get('ip'), undefined);
  assert.equal(ledger.size, 0);
});

test('where claims differ, the first by name has its way, whoever came first', () => {
  const ledger = new Ledger<number>();
  ledger.claim('b', 'key', 2);
  ledger.takeDifferences();
  ledger.claim('a', 'key', 1);
  assert.deepEqual(ledger.takeDifferences(), [{ key: 'key', before: 2, after: 1 }]);
  ledger.claim('c', 'key', 3);
  assert.deepEqual(ledger.takeDifferences(), []);
  ledger.release('a', 'key');
  assert.deepEqual(ledger.takeDifferences(), [{ key: 'key', before: 1, after: 2 }]);
});

test('what was taken away and put back is no difference', () => {
  const ledger = new Ledger<{ port: number }>();
  ledger.claim('a', 'key', { port: 1 });
  ledger.takeDifferences();
  ledger.release('a', 'key');
  ledger.claim('a', 'key', { port: 1 });
  assert.deepEqual(ledger.takeDifferences(), []);
});
