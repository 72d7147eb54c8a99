import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProxyConfiguration } from '../config/configuration.ts';
import { settingsOf, withPlatformDefaults } from '../config/defaults.ts';
import { nodeAddresses } from './addresses.ts';
import type { NodeSettings } from './facts.ts';
import { type FamilyProbes, familiesToServe, familyProblems, fatalMessage, nodePortWarnings } from './warnings.ts';

const DEFAULTS = withPlatformDefaults(settingsOf({})) as ProxyConfiguration;

function settings(change: Partial<ProxyConfiguration>, ips = ['192.0.2.1'], podCIDRs: string[] = []): NodeSettings {
  return { configuration: { ...DEFAULTS, ...change }, addresses: nodeAddresses(ips, '0.0.0.0'), podCIDRs };
}

function detectLocal(...clusterCIDRs: string[]): ProxyConfiguration['detectLocal'] {
  return { ...DEFAULTS.detectLocal, clusterCIDRs };
}

const PROBES: FamilyProbes = {
  mode: 'iptables',
  addresses: nodeAddresses(['192.0.2.1'], ''),
  iptablesProblems: {},
  ipv6: 'usable',
};
const IPV6_NODE = nodeAddresses(['2001:db8::1'], '');

test('both families are served where the host can, the primary first', () => {
  const decision = familiesToServe({ ...PROBES, addresses: IPV6_NODE });
  assert.ok(decision.kind === 'serve');
  assert.deepEqual(decision.families, ['IPv6', 'IPv4']);
  assert.deepEqual(decision.notes, [
    { message: 'kube-proxy running in dual-stack mode', values: { 'primary ipFamily': 'IPv6' } },
  ]);
});

test('without IPv6 in the kernel the primary family is served alone, and the log says why', () => {
  for (const [ipv6, message] of [
    ['absent', 'No kernel support for family'],
    ['disabled', 'Kernel support disabled for family'],
  ] as const) {
    const decision = familiesToServe({ ...PROBES, mode: 'nftables', ipv6 });
    assert.ok(decision.kind === 'serve');
    assert.deepEqual(decision.families, ['IPv4']);
    assert.deepEqual(
      decision.notes.map((note) => note.message),
      [message, 'kube-proxy running in single-stack mode'],
    );
  }
});

test('a primary family that the host cannot serve is fatal', () => {
  const decision = familiesToServe({ ...PROBES, addresses: IPV6_NODE, ipv6: 'disabled' });
  assert.ok(decision.kind === 'fatal');
  assert.equal(decision.message, 'no support for primary IP family "IPv6"');
});

test('an iptables that works for no family is fatal, except in nftables mode', () => {
  const iptablesProblems = { IPv4: 'Permission denied', IPv6: 'not installed' };
  const decision = familiesToServe({ ...PROBES, iptablesProblems });
  assert.ok(decision.kind === 'fatal');
  assert.equal(decision.message, 'iptables is not available on this host : Permission denied');
  assert.equal(familiesToServe({ ...PROBES, mode: 'nftables', iptablesProblems }).kind, 'serve');
});

test('relays serve the families of which the node has an address', () => {
  const single = familiesToServe({ ...PROBES, mode: 'userspace' });
  assert.ok(single.kind === 'serve');
  assert.deepEqual(single.families, ['IPv4']);
  assert.deepEqual(single.notes[0], {
    message: 'No address of this node for family',
    values: { ipFamily: 'IPv6' },
  });
  const addresses = nodeAddresses(['192.0.2.1', '2001:db8::1'], '');
  const dual = familiesToServe({ ...PROBES, mode: 'userspace', addresses });
  assert.ok(dual.kind === 'serve');
  assert.deepEqual(dual.families, ['IPv4', 'IPv6']);
});

test('an iptables that works for one family leaves that family', () => {
  const decision = familiesToServe({ ...PROBES, iptablesProblems: { IPv6: 'not installed' } });
  assert.ok(decision.kind === 'serve');
  assert.equal(decision.isDualStack, false);
  assert.deepEqual(decision.notes[0], {
    message: 'No iptables support for family',
    values: { ipFamily: 'IPv6', err: 'not installed' },
  });
});

test('node ports on all addresses are pointed out', () => {
  const unset =
    'nodePortAddresses is unset; NodePort connections will be accepted on all local IPs. Consider using `--nodeport-addresses primary`';
  assert.deepEqual(nodePortWarnings(settings({})), [unset]);
  assert.deepEqual(nodePortWarnings(settings({ nodePortAddresses: ['primary'] })), []);
  assert.deepEqual(nodePortWarnings(settings({ nodePortAddresses: ['primary'] }, [])), [unset]);
});

test('node port addresses of one family in a cluster of two are pointed out', () => {
  const change = {
    nodePortAddresses: ['192.0.2.0/24'],
    detectLocal: detectLocal('10.244.0.0/16', 'fd00:10:244::/48'),
  };
  assert.deepEqual(nodePortWarnings(settings(change)), [
    'cluster appears to be dual-stack but nodePortAddresses contains only IPv4 addresses; NodePort connections will be accepted on all local IPv6 IPs',
  ]);
  assert.deepEqual(nodePortWarnings(settings({ nodePortAddresses: ['192.0.2.0/24'] }, ['2001:db8::1'])), [
    'cluster appears to be IPv6-primary but nodePortAddresses contains only IPv4 addresses; NodePort connections will be accepted on all local IPv6 IPs',
  ]);
});

test('cluster networks of the wrong family are fatal in single-stack and a warning beside a second family', () => {
  const wrong = settings({ detectLocal: detectLocal('fd00:10:244::/48') });
  const single = familyProblems(wrong, false);
  assert.equal(single.isFatal, true);
  assert.equal(
    fatalMessage(single),
    'kube-proxy configuration is incorrect: cluster is IPv4-only but clusterCIDRs contains only IPv6 addresses',
  );
  assert.deepEqual(familyProblems(wrong, true), {
    texts: ['cluster is IPv4-primary but clusterCIDRs contains only IPv6 addresses'],
    isFatal: false,
  });
});

test("the node's own networks of the wrong family are fatal where they are used", () => {
  const used = settings({ detectLocalMode: 'NodeCIDR' }, ['192.0.2.1'], ['fd00:10:244:1::/64']);
  assert.deepEqual(familyProblems(used, true), {
    texts: ['cluster is IPv4-primary but node.spec.podCIDRs contains only IPv6 addresses'],
    isFatal: true,
  });
  assert.equal(familyProblems(settings({}, ['192.0.2.1'], ['fd00:10:244:1::/64']), false).isFatal, false);
});

test('addresses of the wrong family are listed together; those for all addresses are fine', () => {
  const wrong = settings({
    healthzBindAddress: '[2001:db8::1]:10256',
    metricsBindAddress: '[::1]:10249',
    ipvs: { ...DEFAULTS.ipvs, excludeCIDRs: ['2001:db8::/32'] },
    winkernel: { ...DEFAULTS.winkernel, sourceVip: '2001:db8::9' },
  });
  assert.deepEqual(familyProblems(wrong, false).texts, [
    'cluster is IPv4-only but winkernel.sourceVip is IPv6',
    'cluster is IPv4-only but ipvs.excludeCIDRs contains only IPv6 addresses',
    'cluster is IPv4-only but healthzBindAddress is IPv6',
    'cluster is IPv4-only but metricsBindAddress is IPv6',
  ]);
  assert.deepEqual(familyProblems(settings({ healthzBindAddress: '[::]:10256' }), false).texts, []);
});
