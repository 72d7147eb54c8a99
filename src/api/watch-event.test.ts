import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOlder, objectKey } from './watch-event.ts';

test('versions are compared as numbers of any length', () => {
  assert.equal(isOlder('9', '10'), true);
  assert.equal(isOlder('10', '9'), false);
  assert.equal(isOlder('10', '10'), false);
  assert.equal(isOlder('99999999999999999998', '99999999999999999999'), true);
});

test('a version that is not a number is never older', () => {
  assert.equal(isOlder('abc', '10'), false);
  assert.equal(isOlder('10', ''), false);
});

test('the key has the namespace where there is one', () => {
  assert.equal(objectKey({ metadata: { namespace: 'shop', name: 'cart', resourceVersion: '1' } }), 'shop/cart');
  assert.equal(objectKey({ metadata: { name: 'node-1', resourceVersion: '1' } }), 'node-1');
});
