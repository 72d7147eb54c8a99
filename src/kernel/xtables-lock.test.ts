import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holderPid } from './xtables-lock.ts';

const LOCKS = `1: POSIX  ADVISORY  WRITE 100 00:19:1234 0 EOF
2: FLOCK  ADVISORY  WRITE 4711 00:19:1234 0 EOF
2: -> FLOCK  ADVISORY  WRITE 4712 00:19:1234 0 EOF
3: FLOCK  ADVISORY  WRITE 0 fd:01:99 0 EOF
4: OFDLCK ADVISORY  READ -1 00:05:55 0 EOF
`;

test('the holder of a lock is the one that does not wait for it', () => assert.equal(holderPid(LOCKS, 1234), 4711));

test('a holder in another container has no number here', () => assert.equal(holderPid(LOCKS, 99), 0));

test('nobody holds a lock that is not listed', () => {
  assert.equal(holderPid(LOCKS, 55), undefined);
  assert.equal(holderPid('', 1234), undefined);
});
