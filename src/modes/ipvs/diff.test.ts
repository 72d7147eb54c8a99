import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestCluster } from '../../../test/support/cluster.ts';
import { GOLDEN_BASE, GOLDEN_NODES } from '../../../test/support/golden.ts';
import { resolveNode } from '../../model/resolve.ts';
import { foundOtherRules, heldChains, JUMPS } from './chains.ts';
import { diff, type IpvsState } from './diff.ts';
import type { IpvsFacts } from './facts.ts';
import { plan } from './plan.ts';

const FACTS: IpvsFacts = {
  family: 'IPv4',
  nodeName: 'n1',
  scheduler: 'rr',
  masqueradeMark: 1 << 14,
  masqueradeAll: false,
  detector: { kind: 'source', cidr: '10.244.0.0/16' },
  hasRandomFully: true,
  excludeCIDRs: [],
  nodeAddresses: ['192.168.50.1'],
  nodePortAddresses: ['192.168.50.1'],
};
const IDENTITY = {
  nodeName: 'n1',
  nodeIPs: { IPv4: '192.168.50.1', IPv6: 'fd00:50::1' },
  allowsExternalIPs: true,
};

const PLAN = plan(
  resolveNode(new TestCluster().apply(...GOLDEN_NODES, ...GOLDEN_BASE).tracker.take('IPv4'), IDENTITY),
  FACTS,
);

const SAVED = [
  ...['*nat', ...jumpLines('nat'), ...PLAN.rules.nat, 'COMMIT'],
  ...['*filter', ...jumpLines('filter'), ...PLAN.rules.filter, 'COMMIT'],
];

test('on a fresh node the rules come before the address that makes packets come', () => {
  assert.deepEqual(order(''), ['restore', 'add-address']);
});

test('where rules of another mode stand, the address comes before the rules that replace them', () => {
  assert.deepEqual(order('*nat\n:KUBE-SERVICES - [0:0]\nCOMMIT\n*filter\n:KUBE-FORWARD - [0:0]\nCOMMIT\n'), [
    'add-address',
    'restore',
  ]);
});

test('where our own rules stand, they are right before an address comes', () => {
  assert.deepEqual(order('*nat\n:KUBE-SERVICES - [0:0]\nCOMMIT\n*filter\n:KUBE-IPVS-FILTER - [0:0]\nCOMMIT\n'), [
    'restore',
    'add-address',
  ]);
});

test('rules that went, and jumps that went, are found', () => {
  const found = (lines: readonly string[]): string | undefined => foundOtherRules(lines.join('\n'), PLAN.rules);
  assert.equal(found(SAVED), undefined);
  assert.equal(
    found(SAVED.filter((line) => !line.includes('-j MASQUERADE'))),
    'chain KUBE-POSTROUTING of table nat has 2 rules instead of 3',
  );
  assert.equal(
    found(SAVED.filter((line) => !line.startsWith('-A PREROUTING'))),
    'the rule that leads from PREROUTING of table nat to our chains is gone',
  );
});

function order(save: string): string[] {
  const nothing = { kind: 'read', servers: [], sets: new Map(), addresses: [] } as const;
  const held: IpvsState = { ...nothing, ...heldChains(save) };
  return diff(held, PLAN)
    .steps.map(({ kind }) => kind)
    .filter((kind) => kind === 'restore' || kind === 'add-address');
}

function jumpLines(table: string): string[] {
  return JUMPS.filter((jump) => jump.table === table).map(({ from, rule }) => `-A ${from} ${rule}`);
}
