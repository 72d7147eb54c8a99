import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MILLISECOND, SECOND } from '../../lib/duration.ts';
import { timeoutsOf } from './startup.ts';

test('timeouts are whole seconds, and zero stays zero', () => {
  const timeouts = { tcpTimeout: 600n * SECOND, tcpFinTimeout: 0n, udpTimeout: 1500n * MILLISECOND };
  assert.deepEqual(timeoutsOf(timeouts), { tcp: 600, tcpFin: 0, udp: 1 });
});
