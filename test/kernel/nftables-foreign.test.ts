// The table of nftables mode in other hands: whatever they do to it is noticed, and the next sync mends it; a sync that fails
// changes nothing; another program's table is taken over at once.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test, { after, afterEach, beforeEach } from 'node:test';
import { Nftables } from '../../src/kernel/nftables.ts';
import type { NftEvent } from '../../src/kernel/nftables-objects.ts';
import { continueInSandbox } from '../../src/lab/sandbox.ts';
import { sync } from '../../src/pipeline.ts';
import { TestCluster } from '../support/cluster.ts';
import { GOLDEN_NODES } from '../support/golden.ts';
import { serviceManifest, sliceManifest } from '../support/manifests.ts';
import { listTable, type NftablesNode, nftablesNode } from '../support/nftables-node.ts';

continueInSandbox(import.meta.url);

const nftables = new Nftables();
after(() => nftables.close());

let cluster: TestCluster;
let node: NftablesNode;
let events: NftEvent[];
let watch: { look(): void; close(): void };
let wanted: string;

beforeEach(async () => {
  cluster = new TestCluster().apply(...GOLDEN_NODES);
  const endpoints = [
    { addresses: ['10.244.1.11'], nodeName: 'n1' },
    { addresses: ['10.244.2.11'], nodeName: 'n2' },
  ];
  const web = { type: 'LoadBalancer', clusterIP: '10.96.10.18', ports: [{ name: 'http', port: 80, nodePort: 30080 }] };
  const ranges = { loadBalancerSourceRanges: ['172.20.0.0/24', '192.0.2.0/25'] };
  const sticky = { clusterIP: '10.96.10.19', sessionAffinity: 'ClientIP', externalIPs: ['198.51.100.1'] };
  cluster.apply(
    serviceManifest('web/edge', { ...web, ...ranges }, { loadBalancer: { ingress: [{ ip: '203.0.113.7' }] } }),
    sliceManifest('web/edge', endpoints),
    serviceManifest('web/sticky', { ...sticky, externalTrafficPolicy: 'Local' }),
    sliceManifest('web/sticky', endpoints),
  );
  node = nftablesNode(nftables, cluster.tracker, 'IPv4');
  await sync(node);
  wanted = listTable('IPv4');
  events = [];
  watch = node.drivers.watch((event) => events.push(event));
});
afterEach(() => {
  watch.close();
  execFileSync('nft', ['flush', 'ruleset']);
});

function nft(text: string): void {
  execFileSync('nft', ['-f', '-'], { input: text });
}

const HANDS: Readonly<Record<string, string>> = {
  'delete a row': 'delete element ip kube-proxy cluster-ips { 10.96.10.18 }',
  'lead a row elsewhere': `delete element ip kube-proxy service-ips { 10.96.10.18 . tcp . 80 }
    add element ip kube-proxy service-ips { 10.96.10.18 . tcp . 80 : drop }`,
  'add a row': 'add element ip kube-proxy cluster-ips { 192.0.2.1 }',
  'empty a map': 'flush map ip kube-proxy endpoints-tcp',
  'empty a chain': 'flush chain ip kube-proxy services',
  'add a rule': 'insert rule ip kube-proxy services drop',
  'add a chain': 'add chain ip kube-proxy mine { type filter hook input priority 5; drop; }',
  'add a set': 'add set ip kube-proxy mine { type ipv4_addr; }',
  'empty a base chain': 'flush chain ip kube-proxy nat-prerouting',
  'delete a base chain': 'delete chain ip kube-proxy nat-prerouting',
  'replace a base chain': `delete chain ip kube-proxy filter-input
    add chain ip kube-proxy filter-input { type filter hook output priority 7; }`,
  'replace a map': `flush chain ip kube-proxy services
    delete map ip kube-proxy external-ips
    add map ip kube-proxy external-ips { type inet_service : verdict; }`,
  'replace a map by one without counters': `flush chain ip kube-proxy nodeports
    delete map ip kube-proxy service-nodeports
    add map ip kube-proxy service-nodeports { type inet_proto . inet_service : verdict; }`,
  'replace a map by one without room': `flush chain ip kube-proxy services
    delete map ip kube-proxy external-ips
    add map ip kube-proxy external-ips { type ipv4_addr . inet_proto . inet_service : verdict; size 1; comment "ExternalIPs and LoadBalancer IPs: masquerade, or look after clients on this node"; }`,
  'empty the table': 'flush table ip kube-proxy',
  'delete the table': 'delete table ip kube-proxy',
  'put another table in its place': 'delete table ip kube-proxy; table ip kube-proxy { chain services { drop; }; }',
  'delete everything': 'flush ruleset',
};

for (const [what, text] of Object.entries(HANDS)) {
  test(`other hands ${what}: it is noticed and mended`, async () => {
    nft(text);
    watch.look();
    assert.ok(events.length > 0, 'noticed');
    node.held = undefined;
    // What cannot be mended is refused once, and then made anew.
    await sync(node).catch(() => sync(node));
    assert.equal(listTable('IPv4'), wanted);
    assert.equal((await sync(node)).wasFull, false);
  });
}

test('a transaction that is refused changes nothing, and the next sync mends', async () => {
  nft('add element ip kube-proxy cluster-ips { 192.0.2.1 }');
  nft('add element ip kube-proxy service-ips { 10.99.0.21 . tcp . 80 : drop }');
  const before = listTable('IPv4');
  cluster.apply(serviceManifest('shop/cart'), sliceManifest('shop/cart', [{ addresses: ['10.244.1.11'] }]));
  await assert.rejects(sync(node), /add element service-ips 10\.99\.0\.21 \. tcp \. 80.*EEXIST/);
  assert.equal(listTable('IPv4'), before);
  assert.equal((await sync(node)).wasFull, true);
  cluster.delete(serviceManifest('shop/cart'), sliceManifest('shop/cart', []));
  await sync(node);
  assert.equal(listTable('IPv4'), wanted);
});

test('our own syncs are no news', async () => {
  cluster.apply(serviceManifest('shop/cart'), sliceManifest('shop/cart', [{ addresses: ['10.244.1.11'] }]));
  await sync(node);
  watch.look();
  assert.deepEqual(events, []);
});

test('a table that stood in for ours goes, whoever left it', async () => {
  nft('delete table ip kube-proxy; table ip kube-proxy { chain services { drop; }; }');
  nft('table ip kube-proxy-stand-in { chain services { drop; }; }');
  for (const round of ['taken over', 'mended']) {
    node.held = undefined;
    await sync(node);
    assert.equal(listTable('IPv4'), wanted, round);
    const tables = execFileSync('nft', ['list', 'tables', 'ip'], { encoding: 'utf8' });
    assert.equal(tables, 'table ip kube-proxy\n', round);
    nft('table ip kube-proxy-stand-in { chain services { drop; }; }');
  }
});

test('two families and other tables live side by side', async () => {
  nft('table ip other { set cluster-ips { type ipv4_addr; }; chain services { accept; }; }');
  const six = nftablesNode(nftables, cluster.tracker, 'IPv6');
  await sync(six);
  node.held = undefined;
  await sync(node);
  assert.equal(listTable('IPv4'), wanted);
  const others = execFileSync('nft', ['list', 'table', 'ip', 'other'], { encoding: 'utf8' });
  assert.match(others, /chain services \{\s+accept/);
});
