import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestCluster } from '../../../test/support/cluster.ts';
import { serviceManifest, sliceManifest } from '../../../test/support/manifests.ts';
import { resolveNode } from '../../model/resolve.ts';
import { diff } from './diff.ts';
import type { UserspaceFacts } from './facts.ts';
import { plan, type UserspacePlan } from './plan.ts';
import { print } from './print.ts';

const IDENTITY = { nodeName: 'n1', nodeIPs: { IPv4: '172.20.3.9', IPv6: '::1' }, allowsExternalIPs: true };
const FACTS: UserspaceFacts = {
  family: 'IPv4',
  bindAddress: '0.0.0.0',
  hostIp: '172.20.3.9',
  detector: { kind: 'source', cidr: '10.244.0.0/16' },
};

function planOf(spec: Record<string, unknown>, facts: Partial<UserspaceFacts> = {}): UserspacePlan {
  const cluster = new TestCluster().apply(
    serviceManifest('shop/web', { clusterIP: '10.96.7.40', ...spec }),
    sliceManifest('shop/web', [
      { addresses: ['10.244.1.5'], nodeName: 'n1' },
      { addresses: ['10.244.2.5'], nodeName: 'n2' },
    ]),
  );
  return plan(resolveNode(cluster.tracker.take('IPv4'), IDENTITY), { ...FACTS, ...facts });
}

const linesOf = (text: string, chain: string): string[] =>
  text.split('\n').filter((line) => line.startsWith(`-A ${chain} `));

test('a plain service has one relay and two rules', () => {
  const text = print(planOf({}));
  assert.match(text, /^<shop\/web.*TCP cluster> -> 10\.244\.1\.5:\d+ 10\.244\.2\.5:\d+$/m);
  assert.equal(linesOf(text, 'KUBE-PORTALS-CONTAINER').length, 1);
  assert.equal(linesOf(text, 'KUBE-PORTALS-HOST').length, 1);
});

test('under external policy Local outside clients have a relay of their own, and pods of this node do not meet it', () => {
  const made = planOf({
    type: 'NodePort',
    externalTrafficPolicy: 'Local',
    ports: [{ name: 'http', port: 80, nodePort: 30080 }],
  });
  const relays = [...made.services.values()].flatMap((part) => part.relays);
  assert.deepEqual(
    relays.map(({ key, backends }) => [key.split(' ')[1], backends.length]),
    [
      ['cluster', 2],
      ['local', 1],
    ],
  );
  const rules = linesOf(print(made), 'KUBE-NODEPORT-CONTAINER');
  assert.match(rules[0]!, /-s 10\.244\.0\.0\/16 .*cluster>$/);
  assert.match(rules[1]!, /local>$/);
  assert.match(linesOf(print(made), 'KUBE-NODEPORT-HOST')[0]!, /cluster>$/);
});

test('a specific bind address is where every rule leads', () => {
  const text = print(planOf({}, { bindAddress: '172.20.3.77' }));
  assert.match(linesOf(text, 'KUBE-PORTALS-CONTAINER')[0]!, /--to-destination 172\.20\.3\.77:/);
  assert.match(linesOf(text, 'KUBE-PORTALS-HOST')[0]!, /--to-destination 172\.20\.3\.77:/);
});

test('SCTP is left out', () => {
  const made = planOf({ ports: [{ port: 9000, protocol: 'SCTP' }] });
  assert.deepEqual([...made.services.values()], [{ relays: [], rules: [], claims: [] }]);
});

test('new endpoints change the relay and no rule', () => {
  const cluster = new TestCluster().apply(serviceManifest('shop/web', { clusterIP: '10.96.7.40' }));
  const model = resolveNode(cluster.tracker.take('IPv4'), IDENTITY);
  const before = plan(model, FACTS);
  cluster.apply(sliceManifest('shop/web', [{ addresses: ['10.244.1.5'] }]));
  const change = diff(before, plan(resolveNode(cluster.tracker.take('IPv4'), IDENTITY, model), FACTS, before));
  assert.deepEqual([change.addedRules, change.removedRules, change.stoppedRelays], [[], [], []]);
  assert.equal(change.relays[0]?.backends.length, 1);
});
