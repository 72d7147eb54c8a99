import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionLog, type RelayName, type RelayTotals } from './connections.ts';
import { connectionsText } from './connections-page.ts';

const WEB: RelayName = { key: 'shop/web:http/TCP cluster', service: 'shop/web:http', protocol: 'TCP' };

/** A connection that sends 10 bytes and gets 20. */
function served(log: ConnectionLog, backend: string, relay = WEB) {
  const connection = log.begin(relay, '10.244.1.9:4711');
  Object.assign(connection, { backend, bytesToBackend: 10, bytesToClient: 20 });
  return connection;
}

function traffic(connections: number) {
  return { connections, bytesToBackend: 10 * connections, bytesToClient: 20 * connections };
}

test('totals are of all connections, open and ended, by relay and endpoint', () => {
  const log = new ConnectionLog();
  log.keepTotals(WEB.key, ['a', 'b']);
  log.end(served(log, 'a'), 'closed');
  log.end(served(log, 'a'), 'closed');
  served(log, 'b');
  log.end(log.begin(WEB, '10.244.1.9:4712'), 'no-backend');
  const expected: RelayTotals = {
    relay: WEB.key,
    ...traffic(3),
    connections: 4,
    backends: new Map([
      ['a', traffic(2)],
      ['b', traffic(1)],
    ]),
  };
  assert.deepEqual(log.totals, [expected]);
  assert.deepEqual(log.totals, [expected], 'asking changes nothing');
});

test('an endpoint that is gone is no longer told of, but the sum keeps what it served', () => {
  const log = new ConnectionLog();
  log.keepTotals(WEB.key, ['a', 'b']);
  log.end(served(log, 'a'), 'closed');
  log.end(served(log, 'b'), 'closed');
  log.keepTotals(WEB.key, ['b']);
  assert.deepEqual(log.totals, [{ relay: WEB.key, ...traffic(2), backends: new Map([['b', traffic(1)]]) }]);
});

test('a relay that stopped counts nothing more, also for connections that go on', () => {
  const log = new ConnectionLog();
  log.keepTotals(WEB.key, ['a']);
  const last = served(log, 'a');
  log.forgetTotals(WEB.key);
  assert.deepEqual(log.totals, []);
  log.end(last, 'closed');
  assert.deepEqual(log.totals, []);
});

test('the page shows who talks with whom, and how it ended', () => {
  let now = 1000;
  const log = new ConnectionLog(() => now);
  log.end(served(log, '10.244.2.3:80'), 'closed');
  const lost = log.begin(WEB, '10.244.1.9:4712');
  Object.assign(lost, { failedDials: 1, lastFailure: '10.244.2.3:80: ECONNREFUSED' });
  log.end(lost, 'no-backend');
  served(log, '10.244.1.3:80');
  now = 6000;
  const { open, ended, mostOpen } = log;
  assert.deepEqual(connectionsText({ open, ended, mostOpen }, now).split('\n'), [
    'Open now: 1 (the most at once: 1)',
    'SERVICE        PROTOCOL  CLIENT           ENDPOINT       SENT  RECEIVED  STATE',
    'shop/web:http  TCP       10.244.1.9:4711  10.244.1.3:80  10    20        for 5s',
    '',
    'Ended lately: 2',
    'SERVICE        PROTOCOL  CLIENT           ENDPOINT       SENT  RECEIVED  STATE',
    'shop/web:http  TCP       10.244.1.9:4712  -              0     0         no-backend 5s ago, after 1 in vain (10.244.2.3:80: ECONNREFUSED)',
    'shop/web:http  TCP       10.244.1.9:4711  10.244.2.3:80  10    20        closed 5s ago',
    '',
  ]);
});
