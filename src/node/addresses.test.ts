import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { nodeAddresses, nodePortIps, nodePortNetworks } from './addresses.ts';

describe("this node's addresses", () => {
  test('are loopback where nothing is known, and IPv4 comes first', () =>
    assert.deepEqual(nodeAddresses([], '0.0.0.0'), { primary: 'IPv4', ips: { IPv4: '127.0.0.1', IPv6: '::1' } }));

  test('are the first of the Node, and the first of the other family', () => {
    const ips = ['fd20::7', 'fd20::8', '172.20.5.7', '172.20.5.8'];
    assert.deepEqual(nodeAddresses(ips, ''), { primary: 'IPv6', ips: { IPv4: '172.20.5.7', IPv6: 'fd20::7' } });
  });

  test('give way to a specific bind address, which makes its family the first', () => {
    const bound = nodeAddresses(['172.20.5.7', 'fd20::7'], 'fd20::99');
    assert.deepEqual(bound, { primary: 'IPv6', ips: { IPv4: '172.20.5.7', IPv6: 'fd20::99' } });
    const known = { primary: 'IPv4', ips: { IPv4: '172.20.5.7', IPv6: 'fd20::7' } };
    for (const any of ['0.0.0.0', '::', 'nonsense'])
      assert.deepEqual(nodeAddresses(['172.20.5.7', 'fd20::7'], any), known);
  });
});

describe('node ports are taken', () => {
  const known = nodeAddresses(['172.20.5.7', 'fd20::7'], '');

  test('everywhere unless something is said of the family', () => {
    for (const setting of [[], ['fd20::/64']]) {
      const networks = nodePortNetworks(setting, known, 'IPv4');
      assert.deepEqual(networks, { cidrs: ['0.0.0.0/0'], matchAll: true, containsIPv4Loopback: true });
    }
    assert.deepEqual(nodePortNetworks([], known, 'IPv6'), {
      cidrs: ['::/0'],
      matchAll: true,
      containsIPv4Loopback: false,
    });
  });

  test('everywhere where one network holds all addresses', () => {
    const networks = nodePortNetworks(['172.20.5.0/24', '0.0.0.0/0'], known, 'IPv4');
    assert.equal(networks.matchAll, true);
  });

  test('on the primary addresses where asked, on all of a family whose address is unknown', () => {
    assert.deepEqual(nodePortNetworks(['primary'], known, 'IPv4').cidrs, ['172.20.5.7/32']);
    assert.deepEqual(nodePortNetworks(['primary'], known, 'IPv6').cidrs, ['fd20::7/128']);
    assert.deepEqual(nodePortNetworks(['primary'], nodeAddresses(['172.20.5.7'], ''), 'IPv6').cidrs, ['::/0']);
  });

  for (const [cidr, contains] of [
    ['127.0.2.0/28', true],
    ['64.0.0.0/2', true],
    ['0.0.0.0/0', true],
    ['127.0.0.0/8', true],
    ['128.0.0.0/1', false],
    ['172.20.5.0/24', false],
  ] as const) {
    test(`${contains ? 'also' : 'not'} on loopback in ${cidr}`, () =>
      assert.equal(nodePortNetworks([cidr], known, 'IPv4').containsIPv4Loopback, contains));
  }

  test('in a network that is named by one of its addresses, in whatever spelling', () => {
    for (const setting of ['172.20.5.7/24', '172.020.005.007/24']) {
      const networks = nodePortNetworks([setting], known, 'IPv4');
      assert.deepEqual(nodePortIps(networks, ['172.20.5.7', '172.20.6.1']), ['172.20.5.7']);
    }
    assert.deepEqual(nodePortIps(nodePortNetworks(['FD20::7/64'], known, 'IPv6'), ['fd20::7']), ['fd20::7']);
    assert.deepEqual(nodePortIps(nodePortNetworks(['127.0.0.1/8'], known, 'IPv4'), ['127.0.0.1']), ['127.0.0.1']);
    assert.equal(nodePortNetworks(['172.20.5.7/0'], known, 'IPv4').containsIPv4Loopback, true);
  });

  test('on the addresses of the host that a network contains, each once', () => {
    const networks = nodePortNetworks(['172.20.5.0/24', '172.20.0.0/16'], known, 'IPv4');
    assert.deepEqual(nodePortIps(networks, ['172.20.6.1', '10.0.0.1', '172.20.5.7', '172.20.5.7']), [
      '172.20.5.7',
      '172.20.6.1',
    ]);
    assert.deepEqual(nodePortIps(networks, ['10.0.0.1']), []);
  });
});
