import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MILLISECOND, SECOND } from '../../lib/duration.ts';
import { sysctls, timeoutsOf } from './startup.ts';

const values = (strictARP: boolean, kernel: string): Record<string, string> =>
  Object.fromEntries(sysctls({ strictARP }, kernel));

test('the kernel tracks what IPVS translates, and forgets connections to servers that are gone', () => {
  assert.deepEqual(values(false, '6.1.0-13-amd64'), {
    'net/ipv4/vs/conntrack': '1',
    'net/ipv4/vs/expire_nodest_conn': '1',
    'net/ipv4/vs/expire_quiescent_template': '1',
    'net/ipv4/ip_forward': '1',
  });
});

test('the mode of reused ports is only touched where it is broken', () => {
  for (const [kernel, isTouched] of [
    ['4.0.9', false],
    ['4.1.0', true],
    ['5.8.18', true],
    ['5.9.0', false],
  ] as const)
    assert.equal('net/ipv4/vs/conn_reuse_mode' in values(false, kernel), isTouched, kernel);
});

test('strictARP keeps the node from answering for Service addresses', () => {
  const strict = values(true, '6.1.0');
  assert.equal(strict['net/ipv4/conf/all/arp_ignore'], '1');
  assert.equal(strict['net/ipv4/conf/all/arp_announce'], '2');
});

test('timeouts are whole seconds, and zero stays zero', () => {
  const timeouts = { tcpTimeout: 600n * SECOND, tcpFinTimeout: 0n, udpTimeout: 1500n * MILLISECOND };
  assert.deepEqual(timeoutsOf(timeouts), { tcp: 600, tcpFin: 0, udp: 1 });
});
