import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterPlan, networksOf, PRESETS } from './addresses.ts';

test("kubeadm's preset gives the nodes of a course their usual addresses", () => {
  const { nodes, client, router, entry } = clusterPlan(networksOf('kubeadm', ['IPv4', 'IPv6'], {}), 3);
  assert.deepEqual(nodes, [
    { name: 'control', ips: ['192.168.50.10', 'fd00:50::a'], podCIDRs: ['10.244.0.0/24', 'fd00:10:244::/64'] },
    { name: 'node1', ips: ['192.168.50.11', 'fd00:50::b'], podCIDRs: ['10.244.1.0/24', 'fd00:10:244:1::/64'] },
    { name: 'node2', ips: ['192.168.50.12', 'fd00:50::c'], podCIDRs: ['10.244.2.0/24', 'fd00:10:244:2::/64'] },
  ]);
  assert.deepEqual(client, { name: 'client', ips: ['192.168.50.100', 'fd00:50::64'] });
  assert.deepEqual({ router, entry }, { router: '192.168.50.254', entry: 'node1' });
});

test('every preset has room for sixteen nodes', () => {
  for (const preset of Object.keys(PRESETS)) {
    const { nodes } = clusterPlan(networksOf(preset, ['IPv4', 'IPv6'], {}), 16);
    assert.equal(new Set(nodes.flatMap(({ ips, podCIDRs }) => [...ips, ...podCIDRs])).size, 64);
  }
});

test('a network given by hand takes the place of the one of its family', () => {
  const networks = networksOf('kubeadm', ['IPv6', 'IPv4'], { pods: ['10.1.0.0/16'], services: ['fd00:1::/112'] });
  assert.deepEqual(networks.pods, ['fd00:10:244::/48', '10.1.0.0/16']);
  assert.deepEqual(networks.services, ['fd00:1::/112', '10.96.0.0/12']);
});

test('what cannot be is refused', () => {
  assert.throws(() => networksOf('moon', ['IPv4'], {}), /no preset moon/);
  assert.throws(() => networksOf('kubeadm', ['IPv4'], { pods: ['nonsense'] }), /not a network/);
  assert.throws(() => clusterPlan(networksOf('kubeadm', ['IPv4'], {}), 0), /1 to 80/);
  assert.throws(() => clusterPlan(networksOf('198.19', ['IPv4'], {}), 17), /no part for node 16/);
  assert.throws(() => clusterPlan(networksOf('kubeadm', ['IPv4'], { pods: ['10.0.0.0/30'] }), 1), /too small/);
});
