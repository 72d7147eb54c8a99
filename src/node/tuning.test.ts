import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConntrackConfiguration } from '../config/configuration.ts';
import { HOUR, SECOND } from '../lib/duration.ts';
import { conntrackTunings, ipvsTunings, wantedConnections } from './tuning.ts';

const DEFAULTS: ConntrackConfiguration = {
  maxPerCore: 32768,
  min: 131072,
  tcpEstablishedTimeout: 24n * HOUR,
  tcpCloseWaitTimeout: HOUR,
  tcpBeLiberal: false,
  udpTimeout: 0n,
  udpStreamTimeout: 0n,
};

test('the table of connections follows the CPUs, between a floor and a ceiling', () => {
  assert.equal(wantedConnections(DEFAULTS, 2), 131072);
  assert.equal(wantedConnections(DEFAULTS, 8), 262144);
  assert.equal(wantedConnections(DEFAULTS, 64), 1048576);
});

test('the ceiling is for what CPUs ask for, and a floor above it stands', () => {
  assert.equal(wantedConnections({ ...DEFAULTS, min: 2_000_000 }, 2), 2_000_000);
});

test('without a size per CPU the table is left alone, whatever the floor', () => {
  assert.equal(wantedConnections({ ...DEFAULTS, maxPerCore: 0 }, 64), undefined);
  assert.deepEqual(
    conntrackTunings({ ...DEFAULTS, maxPerCore: 0, tcpEstablishedTimeout: 0n, tcpCloseWaitTimeout: 0n }, 2),
    [],
  );
});

test('settings come in their order, durations as whole seconds, zero ones not at all', () => {
  const wanted = conntrackTunings({ ...DEFAULTS, tcpBeLiberal: true, udpTimeout: 10n * SECOND + SECOND / 2n }, 2);
  assert.deepEqual(
    wanted.map(({ files, value, isMinimum = false }) => [files[0]!.split('/').at(-1), value, isMinimum]),
    [
      ['nf_conntrack_max', 131072, false],
      ['hashsize', 32768, true],
      ['nf_conntrack_tcp_timeout_established', 86400, false],
      ['nf_conntrack_tcp_timeout_close_wait', 3600, false],
      ['nf_conntrack_tcp_be_liberal', 1, false],
      ['nf_conntrack_udp_timeout', 10, false],
    ],
  );
});

test('IPVS asks for the reuse mode only of kernels that need it, and for ARP settings only if told', () => {
  const ipvs = { scheduler: '', excludeCIDRs: [], strictARP: false, tcpTimeout: 0n, tcpFinTimeout: 0n, udpTimeout: 0n };
  const names = (strictARP: boolean, version: string): string[] =>
    ipvsTunings({ ...ipvs, strictARP }, version).map(({ files }) => files[0]!.split('/').at(-1)!);
  assert.equal(names(false, '5.4.0-42-generic').includes('conn_reuse_mode'), true);
  assert.equal(names(false, '5.9.0').includes('conn_reuse_mode'), false);
  assert.equal(names(false, '4.0.9').includes('conn_reuse_mode'), false);
  assert.deepEqual(
    names(true, '6.1.0').filter((name) => name.startsWith('arp')),
    ['arp_ignore', 'arp_announce'],
  );
});
