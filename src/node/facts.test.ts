import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProxyConfiguration } from '../config/configuration.ts';
import { settingsOf, withPlatformDefaults } from '../config/defaults.ts';
import type { Document } from '../config/document.ts';
import { nodeAddresses } from './addresses.ts';
import { iptablesFacts, type NodeSettings, nftablesFacts } from './facts.ts';

const HOST_IPS = ['127.0.0.1', '172.20.5.7', '10.60.0.1', '::1', 'fd20::7'];

function settings(document: Document, ips: readonly string[] = ['172.20.5.7', 'fd20::7']): NodeSettings {
  return {
    configuration: withPlatformDefaults(settingsOf(document)) as ProxyConfiguration,
    addresses: nodeAddresses(ips, ''),
    podCIDRs: [],
  };
}

function iptables(document: Document) {
  return iptablesFacts(settings({ mode: 'iptables', ...document }), 'IPv4', {
    backend: 'nf_tables',
    isInUserNamespace: false,
    hasRandomFully: true,
    conntrackIsLiberal: false,
    counters: { invalidDropped: false, localhostNodePorts: false },
    hostIps: HOST_IPS,
  });
}

function nftables(document: Document, ips?: readonly string[], routesLocalnet = true) {
  const machine = { hasCounters: false, releasesChainsAtOnce: true, routesLocalnet, hostIps: HOST_IPS };
  return nftablesFacts(settings({ mode: 'nftables', ...document }, ips), 'IPv4', machine);
}

test('each mode has its own bit of the mark', () => {
  const document = { iptables: { masqueradeBit: 31 }, nftables: { masqueradeBit: 0 } };
  assert.equal(iptables(document).masqueradeMark, 0x80000000);
  assert.equal(nftables(document).masqueradeMark, 1);
});

test('node ports are taken on all addresses in iptables mode, on the primary ones in nftables mode', () => {
  assert.deepEqual(iptables({}).nodePortAddresses, { kind: 'all' });
  assert.deepEqual(nftables({}).nodePortAddresses, { kind: 'some', ips: ['172.20.5.7'] });
  assert.deepEqual(nftables({}, []).nodePortAddresses, { kind: 'all' }, 'as far as these are known');
});

test('iptables mode takes them on localhost unless told not to, or told of other addresses', () => {
  assert.equal(iptables({}).localhostNodePorts, true);
  assert.equal(iptables({ iptables: { localhostNodePorts: false } }).localhostNodePorts, false);
  assert.equal(iptables({ nodePortAddresses: ['172.20.0.0/16'] }).localhostNodePorts, false);
  const both = iptables({ nodePortAddresses: ['172.20.0.0/16', '127.0.0.0/8'] });
  assert.equal(both.localhostNodePorts, true);
  assert.deepEqual(both.nodePortAddresses, { kind: 'some', ips: ['127.0.0.1', '172.20.5.7'] });
});

test('nftables mode takes them there only where it is named, and packets may go there', () => {
  assert.equal(nftables({}).localhostNodePorts, false);
  assert.equal(nftables({ nodePortAddresses: ['0.0.0.0/0', '127.0.0.0/8'] }).localhostNodePorts, false);
  assert.equal(nftables({ nodePortAddresses: ['127.0.0.0/8'] }).localhostNodePorts, true);
  assert.equal(nftables({ nodePortAddresses: ['127.0.0.0/8'] }, undefined, false).localhostNodePorts, false);
});
