import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiLost, apiReached, healthzAnswer, isHealthy, nodeSeen, queued, startHealth, updated } from './health.ts';

const AT = { now: 0, wallNow: 1_000_000 };
const START = startHealth(30_000);
const SEEN = { isBeingDeleted: false, taintKeys: [] };

test('a family whose loop has not started is healthy however long changes wait', () => {
  assert.equal(isHealthy(queued(START, 'IPv4', 0), 10_000_000), true);
});

test('the oldest change counts: later ones do not make the wait start anew', () => {
  const waiting = queued(queued(updated(START, 'IPv4', 0), 'IPv4', 1000), 'IPv4', 50_000);
  assert.equal(isHealthy(waiting, 60_999), true);
  assert.equal(isHealthy(waiting, 61_000), false);
});

test('a success clears what waited, for its own family only', () => {
  const both = queued(queued(updated(updated(START, 'IPv4', 0), 'IPv6', 0), 'IPv4', 0), 'IPv6', 0);
  assert.equal(isHealthy(updated(both, 'IPv4', 70_000), 70_000), false);
  assert.equal(isHealthy(updated(updated(both, 'IPv4', 70_000), 'IPv6', 70_000), 70_000), true);
});

test('without changes a proxy stays healthy, however old its last sync is', () => {
  assert.equal(isHealthy(updated(START, 'IPv4', 0), 1e12), true);
});

test('only being deleted, or the taint of the autoscaler, make a node that was seen ineligible', () => {
  const status = (node: typeof SEEN | { isBeingDeleted: boolean; taintKeys: string[] }) =>
    healthzAnswer(nodeSeen(START, node), AT).status;
  assert.equal(healthzAnswer(START, AT).status, 503);
  assert.equal(status(SEEN), 200);
  assert.equal(status({ isBeingDeleted: true, taintKeys: [] }), 503);
  assert.equal(status({ isBeingDeleted: false, taintKeys: ['ToBeDeletedByClusterAutoscaler'] }), 503);
  assert.equal(status({ isBeingDeleted: false, taintKeys: ['node.kubernetes.io/not-ready'] }), 200);
});

test('the API server is lost since it was first missed, and found again without a trace', () => {
  const lost = apiLost(apiLost(START, 5000), 9000);
  assert.match(healthzAnswer(lost, AT).body, /"apiServer":\{"connected":false,"since":"1970-01-01T00:00:05Z"\}\}$/);
  assert.deepEqual(apiReached(lost), START);
});

test('a jump of the wall clock makes nobody unhealthy', () => {
  const waiting = nodeSeen(queued(updated(START, 'IPv4', 0), 'IPv4', 1000), SEEN);
  assert.equal(healthzAnswer(waiting, { now: 2000, wallNow: 1e12 }).status, 200);
  assert.equal(healthzAnswer(waiting, { now: 61_000, wallNow: 0 }).status, 503);
});
