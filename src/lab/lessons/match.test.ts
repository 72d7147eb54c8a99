import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchOutput, renamed } from './match.ts';

const none = new Map<string, string>();

test('blanks, counters and ages may differ, words may not', () => {
  assert.ok(matchOutput(['a  12 3K 15s'], 'a 7   0 2m3s\n\n', none));
  assert.equal(matchOutput(['a 12'], 'b 12\n', none), undefined);
  assert.equal(matchOutput(['probability 0.5'], 'probability 0.3\n', none), undefined);
});

test('a number alone in its line must be the same', () => {
  assert.ok(matchOutput(['2'], '2\n', none));
  assert.equal(matchOutput(['2'], '3\n', none), undefined);
});

test('a name stands for one other name, everywhere', () => {
  const shown = ['to:10.244.1.3:80 10.244.2.3', 'from 10.244.1.3'];
  const names = matchOutput(shown, 'to:10.9.0.1:80 10.9.0.2\nfrom 10.9.0.1\n', none);
  assert.deepEqual(Object.fromEntries(names!), { '10.244.1.3': '10.9.0.1', '10.244.2.3': '10.9.0.2' });
  assert.equal(matchOutput(shown, 'to:10.9.0.1:80 10.9.0.2\nfrom 10.9.0.2\n', none), undefined);
  assert.equal(matchOutput(shown, 'to:10.9.0.1:80 10.9.0.1\nfrom 10.9.0.1\n', none), undefined);
  assert.equal(renamed('ping 10.244.2.3', names!), 'ping 10.9.0.2');
});

test("a pod keeps its deployment's name", () => {
  assert.ok(matchOutput(['summary-ff6d2dd9c9-q8mgh'], 'summary-ff6d2dd9c9-zzzzz\n', none));
  assert.equal(matchOutput(['summary-ff6d2dd9c9-q8mgh'], 'database-ff6d2dd9c9-q8mgh\n', none), undefined);
});

test('addresses that every machine has stay as they are', () => {
  assert.ok(matchOutput(['0.0.0.0/0 127.0.0.1'], '0.0.0.0/0 127.0.0.1\n', none));
  assert.equal(matchOutput(['0.0.0.0/0 127.0.0.1'], '10.0.0.1/0 127.0.0.1\n', none), undefined);
});

test('an ellipsis stands for any text in its line, and alone for any lines', () => {
  assert.ok(matchOutput(['a … d', '…', 'z'], 'a b c d\nx\ny\nz\n', none));
  assert.ok(matchOutput(['… a … b …'], 'a b\n', none));
  assert.ok(matchOutput(['… a … b …'], 'x a y z b c\n', none));
  assert.ok(matchOutput(['sport=…'], 'sport=4711\n', none));
  assert.equal(matchOutput(['a', 'z'], 'a\nx\nz\n', none), undefined);
});
