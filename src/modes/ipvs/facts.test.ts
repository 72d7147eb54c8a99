import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProxyConfiguration } from '../../config/configuration.ts';
import { settingsOf, withPlatformDefaults } from '../../config/defaults.ts';
import type { DeviceAddress } from '../../kernel/links-codec.ts';
import { nodeAddresses } from '../../node/addresses.ts';
import { ipvsFacts } from './facts.ts';

const DEFAULTS = withPlatformDefaults(settingsOf({})) as ProxyConfiguration;
const at = (device: number, ip: string, isLinkLocal = false): DeviceAddress => ({ device, ip, isLinkLocal });

function factsOf(change: Partial<ProxyConfiguration>, family: 'IPv4' | 'IPv6', addresses: readonly DeviceAddress[]) {
  const settings = {
    configuration: { ...DEFAULTS, ...change },
    addresses: nodeAddresses(['192.0.2.10', '2001:db8::10'], '0.0.0.0'),
    podCIDRs: [],
  };
  return ipvsFacts(settings, family, { nodeName: 'n1', hasRandomFully: true, addresses, device: 9 });
}

const IPV4 = [at(1, '127.0.0.1'), at(2, '192.0.2.10'), at(3, '10.50.1.1'), at(9, '10.96.0.1')];

test('node ports are taken on every address but loopback and those of our own device', () => {
  const { nodeAddresses: all, nodePortAddresses } = factsOf({}, 'IPv4', IPV4);
  assert.deepEqual(all, ['10.50.1.1', '192.0.2.10']);
  assert.deepEqual(nodePortAddresses, all);
});

test("node-port addresses may be limited, which does not change what is the node's own", () => {
  const { nodeAddresses: all, nodePortAddresses } = factsOf({ nodePortAddresses: ['primary'] }, 'IPv4', IPV4);
  assert.deepEqual(all, ['10.50.1.1', '192.0.2.10']);
  assert.deepEqual(nodePortAddresses, ['192.0.2.10']);
});

test('addresses of a link alone are left out', () => {
  const addresses = [at(1, '::1'), at(2, '2001:db8::10'), at(2, 'fe80::1', true)];
  assert.deepEqual(factsOf({}, 'IPv6', addresses).nodeAddresses, ['2001:db8::10']);
});

test('the scheduler is rr unless another is asked for, and excluded networks are split by family', () => {
  assert.equal(factsOf({}, 'IPv4', IPV4).scheduler, 'rr');
  const ipvs = { ...DEFAULTS.ipvs, scheduler: 'mh', excludeCIDRs: ['198.18.0.9/16', 'fd00:9::/64'] };
  assert.equal(factsOf({ ipvs }, 'IPv4', IPV4).scheduler, 'mh');
  assert.deepEqual(factsOf({ ipvs }, 'IPv4', IPV4).excludeCIDRs, ['198.18.0.0/16']);
  assert.deepEqual(factsOf({ ipvs }, 'IPv6', []).excludeCIDRs, ['fd00:9::/64']);
});
