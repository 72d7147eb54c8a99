import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tableOf } from './check.ts';
import type { Probes } from './check-probe.ts';
import { reportOf } from './check-report.ts';
import type { IptablesTrial, Trials } from './check-trials.ts';

const WORKS: IptablesTrial = { version: '1.8.9', missing: [] };
const both = (trial: IptablesTrial) => ({ IPv4: trial, IPv6: trial });
const TRIALS: Trials = { iptables: { auto: both(WORKS), nft: both(WORKS), legacy: both(WORKS) }, nftables: {} };
const HOST: Probes = {
  kernelVersion: '6.1.0-13-amd64',
  ipv6: 'usable',
  trials: TRIALS,
  variant: { variant: 'nft', reason: 'iptables-nft: a reason' },
  nftVersion: '1.0.6',
  ipsetVersion: '7.17',
  modules: { ip_vs: 'loadable', ip_vs_rr: 'loadable', dummy: 'present' },
  capabilities: ['NET_ADMIN'],
  sysctls: { 'net/ipv4/ip_forward': '1' },
  leftovers: [],
  portolan: undefined,
  runningProxy: undefined,
  portsInUse: [],
};

const usable = (probes: Probes): string[] =>
  reportOf('iptables', probes)
    .modes.filter((mode) => mode.isUsable)
    .map(({ mode }) => mode);

test('a host that has everything runs every mode', () => {
  assert.deepEqual(usable(HOST), ['iptables', 'nftables', 'ipvs', 'userspace']);
  assert.ok(reportOf('iptables', HOST).findings.every(({ state }) => state === 'good'));
});

test('a kernel before 5.13 has no nftables mode', () => {
  const report = reportOf('nftables', { ...HOST, kernelVersion: '5.10.0' });
  assert.equal(report.isUsable, false);
  assert.match(report.modes[1]!.detail, /requires kernel 5\.13 or later, this is 5\.10\.0/);
});

test('a missing match is named, and costs the modes that need it', () => {
  const lacking = { ...WORKS, missing: ['recent'] };
  const probes = { ...HOST, trials: { ...TRIALS, iptables: { ...TRIALS.iptables, nft: both(lacking) } } };
  assert.deepEqual(usable(probes), ['nftables']);
  assert.match(reportOf('iptables', probes).modes[0]!.detail, /IPv4: the kernel lacks recent/);
});

test('what only the unused iptables lacks is no obstacle', () => {
  const broken = { version: '', problem: 'iptables-legacy is not installed', missing: [] };
  const probes = { ...HOST, trials: { ...TRIALS, iptables: { ...TRIALS.iptables, legacy: both(broken) } } };
  assert.equal(reportOf('iptables', probes).isUsable, true);
});

test('IPv6 tools count only where the kernel has IPv6', () => {
  const broken = { version: '1.8.9', problem: 'no table', missing: [] };
  const nft = { IPv4: WORKS, IPv6: broken };
  const trials = { ...TRIALS, iptables: { ...TRIALS.iptables, nft } };
  assert.equal(reportOf('iptables', { ...HOST, trials }).isUsable, false);
  assert.equal(reportOf('iptables', { ...HOST, trials, ipv6: 'absent' }).isUsable, true);
});

test('where nothing could be tried nothing is promised', () => {
  assert.deepEqual(usable({ ...HOST, trials: 'unshare failed: Operation not permitted' }), []);
});

test('a running kube-proxy explains its ports; without one they are a problem', () => {
  const states = (probes: Probes): string[] =>
    reportOf('iptables', probes)
      .findings.filter(({ what }) => what.startsWith('port '))
      .map(({ state }) => state);
  assert.deepEqual(states({ ...HOST, portsInUse: [10249, 10256], runningProxy: 'ipvs' }), ['note', 'note']);
  assert.deepEqual(states({ ...HOST, portsInUse: [10256] }), ['bad']);
});

test('legacy iptables asks for NET_RAW beside NET_ADMIN', () => {
  const variant = { variant: 'legacy', reason: '' } as const;
  const finding = reportOf('iptables', { ...HOST, variant }).findings.find(({ what }) => what === 'capabilities');
  assert.equal(finding?.state, 'note');
  assert.match(finding?.detail ?? '', /iptables-legacy needs NET_RAW/);
});

test('the table ends with the answer, and has colours only where they show', () => {
  const report = reportOf('iptables', HOST);
  assert.match(tableOf(report, false), /\nPortolan can run here in iptables mode\.\n$/);
  assert.equal(tableOf(report, false).includes('\x1b'), false);
  assert.equal(tableOf(report, true).includes('\x1b[32m'), true);
});
