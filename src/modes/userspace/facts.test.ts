import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProxyConfiguration } from '../../config/configuration.ts';
import { settingsOf, withPlatformDefaults } from '../../config/defaults.ts';
import { nodeAddresses } from '../../node/addresses.ts';
import { unusableBecause, userspaceFacts } from './facts.ts';

const DEFAULTS = withPlatformDefaults(settingsOf({})) as ProxyConfiguration;

function factsOf(bindAddress: string, family: 'IPv4' | 'IPv6', ips = ['192.0.2.10', '2001:db8::10']) {
  const configuration = { ...DEFAULTS, bindAddress };
  return userspaceFacts({ configuration, addresses: nodeAddresses(ips, bindAddress), podCIDRs: [] }, family);
}

test('relays listen on all addresses, and the node dials its own', () => {
  assert.equal(factsOf('0.0.0.0', 'IPv4').bindAddress, '0.0.0.0');
  assert.equal(factsOf('0.0.0.0', 'IPv6').bindAddress, '::');
  assert.equal(factsOf('0.0.0.0', 'IPv4').hostIp, '192.0.2.10');
});

test('a specific bind address holds for its own family', () => {
  assert.equal(factsOf('192.0.2.77', 'IPv4').bindAddress, '192.0.2.77');
  assert.equal(factsOf('192.0.2.77', 'IPv6').bindAddress, '::');
});

test('localhost and a node without an address are no places for a relay', () => {
  assert.equal(unusableBecause(factsOf('0.0.0.0', 'IPv4')), undefined);
  assert.equal(unusableBecause(factsOf('127.0.0.1', 'IPv4')), 'cannot proxy on localhost');
  assert.match(unusableBecause(factsOf('0.0.0.0', 'IPv6', ['192.0.2.10'])) ?? '', /no IPv6 address of this node/);
});
