import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestCluster } from '../../../test/support/cluster.ts';
import { serviceManifest, sliceManifest } from '../../../test/support/manifests.ts';
import type { NodeModel } from '../../model/model.ts';
import { resolveNode } from '../../model/resolve.ts';
import { fullLines } from './chains.ts';
import { diff } from './diff.ts';
import { foundChanged } from './drift.ts';
import type { UserspaceFacts } from './facts.ts';
import { plan, type UserspacePlan } from './plan.ts';
import { print } from './print.ts';
import { ruleText } from './rules.ts';
import { portTraffic } from './traffic.ts';

const IDENTITY = { nodeName: 'n1', nodeIPs: { IPv4: '172.20.3.9', IPv6: '::1' }, allowsExternalIPs: true };
const FACTS: UserspaceFacts = {
  family: 'IPv4',
  bindAddress: '0.0.0.0',
  hostIp: '172.20.3.9',
  detector: { kind: 'source', cidr: '10.244.0.0/16' },
};

function planOf(spec: Record<string, unknown>, facts: Partial<UserspaceFacts> = {}): UserspacePlan {
  return plan(modelOf(spec), { ...FACTS, ...facts });
}

function modelOf(spec: Record<string, unknown>): NodeModel {
  const cluster = new TestCluster().apply(
    serviceManifest('shop/web', { clusterIP: '10.96.7.40', ...spec }),
    sliceManifest('shop/web', [
      { addresses: ['10.244.1.5'], nodeName: 'n1' },
      { addresses: ['10.244.2.5'], nodeName: 'n2' },
    ]),
  );
  return resolveNode(cluster.tracker.take('IPv4'), IDENTITY);
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

test('what somebody took from the rules, or put there, is found', () => {
  const written = planOf({ type: 'NodePort' });
  const rules = [...written.services.values()].flatMap((part) => part.rules);
  const lines = fullLines(
    rules.map((rule) => ruleText(rule, written.facts, 41017)),
    { kind: 'read', chains: new Set(), jumps: new Set() },
  ).map((line) => line.replace(/^-I /, '-A '));
  const without = (start: string): string => lines.filter((line) => !line.startsWith(start)).join('\n');
  assert.equal(foundChanged(lines.join('\n'), written), undefined);
  assert.equal(foundChanged(without('-A INPUT'), written), 'INPUT no longer leads to KUBE-NODEPORT-NON-LOCAL');
  assert.equal(
    foundChanged(without('-A KUBE-PORTALS-HOST'), written),
    'chain KUBE-PORTALS-HOST has 0 rules instead of 1',
  );
  assert.equal(
    foundChanged(`${lines.join('\n')}\n-A KUBE-PORTALS-HOST -j DROP`, written),
    'chain KUBE-PORTALS-HOST has 2 rules instead of 1',
  );
  assert.equal(foundChanged('', written), 'chain KUBE-PORTALS-CONTAINER is gone');
});

test('both relays of a port with a Local policy count for the port', () => {
  const model = modelOf({ type: 'NodePort', externalTrafficPolicy: 'Local' });
  const [port] = model.services.get('shop/web')!.ports;
  const [local, other] = port!.backends.cluster.map(({ address }) => address) as [string, string];
  const traffic = (connections: number) => ({ connections, bytesToBackend: connections, bytesToClient: 0 });
  const name = `${port!.displayName}/TCP`;
  const [counted] = portTraffic(model, [
    { relay: `${name} cluster`, ...traffic(3), backends: new Map([[local, traffic(2)]]) },
    { relay: `${name} local`, ...traffic(5), backends: new Map([[local, traffic(5)]]) },
  ]);
  assert.deepEqual([counted?.connections, counted?.bytesToBackend], [8, 8]);
  assert.deepEqual(
    counted?.backends,
    new Map([
      [local, traffic(7)],
      [other, traffic(0)],
    ]),
  );
});
