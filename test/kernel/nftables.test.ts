// The nf_tables driver against a real kernel: written with ours, read with nft; written with nft, read with ours.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test, { afterEach, beforeEach } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { KernelError } from '../../src/kernel/error.ts';
import { Subscription, type SubscriptionEvent } from '../../src/kernel/netlink/subscription.ts';
import { Nftables } from '../../src/kernel/nftables.ts';
import type { NftElement, NftEvent, NftSet, NftTable } from '../../src/kernel/nftables-objects.ts';
import { continueInSandbox } from '../../src/lab/sandbox.ts';

continueInSandbox(import.meta.url);

const NFNLGRP_NFTABLES = 7;
const table: NftTable = { family: 'IPv4', name: 't' };
const ports: NftSet = { name: 'ports', key: ['inet_proto', 'inet_service'], value: 'verdict', hasCounters: true };
let nftables: Nftables;

beforeEach(() => {
  nftables = new Nftables();
});
afterEach(() => {
  nftables.close();
  nft('flush ruleset');
});

function nft(text: string): string {
  return execFileSync('nft', ['-f', '-'], { input: text, encoding: 'utf8' });
}

const start = [{ op: 'add-table' }, { op: 'add-chain', chain: { name: 'c' } }, { op: 'add-set', set: ports }] as const;

test('a committed chain and its rows are listed by nft with their comments', async () => {
  const elements = [{ key: 'tcp . 80', value: 'goto c', comment: 'shop/cart:http' }];
  await nftables.commit(table, [...start, { op: 'add-elements', set: ports, elements }]);
  const text = nft('list ruleset');
  assert.match(text, /type inet_proto \. inet_service : verdict/);
  assert.match(text, /tcp \. 80 counter packets 0 bytes 0 comment "shop\/cart:http" : goto c/);
});

test('a list says what nft wrote', async () => {
  nft(`table ip t { comment "hello"; set ips { type ipv4_addr; comment "some"; elements = { 10.0.0.1 comment "one", 10.0.0.2 } }
    map m { type ipv4_addr : verdict; elements = { 10.0.0.9 : drop, 10.0.0.8 : goto c } }
    set nets { type ipv4_addr; flags interval; elements = { 10.0.0.0/8, 192.0.2.1, 198.51.100.3-198.51.100.9, 255.0.0.0/8 } }
    map sticky { type ipv4_addr : ipv4_addr; flags timeout; elements = { 10.0.0.1 timeout 90s : 10.0.0.2 } }
    chain c { ip daddr { 1.1.1.1, 2.2.2.2 } drop comment "two"; }
    chain base { type filter hook input priority 0; }; }`);
  const byKey = (a: NftElement, b: NftElement): number => (a.key < b.key ? -1 : 1);
  const list = async (set: NftSet) => (await nftables.listElements(table, set)).sort(byKey);
  assert.deepEqual(await nftables.getTable(table), { ...table, comment: 'hello' });
  assert.deepEqual(await nftables.listChains(table), [
    { name: 'c' },
    { name: 'base', base: { type: 'filter', hook: 'input', priority: 0 } },
  ]);
  const sets = await nftables.listSets(table);
  assert.deepEqual(
    sets.map(({ name, comment }) => [name, comment]),
    [
      ['ips', 'some'],
      ['m', undefined],
      ['nets', undefined],
      ['sticky', undefined],
    ],
  );
  assert.deepEqual(await list({ name: 'ips', key: ['ipv4_addr'] }), [
    { key: '10.0.0.1', comment: 'one' },
    { key: '10.0.0.2' },
  ]);
  assert.deepEqual(await list({ name: 'm', key: ['ipv4_addr'], value: 'verdict' }), [
    { key: '10.0.0.8', value: 'goto c' },
    { key: '10.0.0.9', value: 'drop' },
  ]);
  assert.deepEqual(await list({ name: 'nets', key: ['ipv4_addr'], isInterval: true }), [
    { key: '10.0.0.0/8' },
    { key: '192.0.2.1' },
    { key: '198.51.100.3-198.51.100.9' },
    { key: '255.0.0.0/8' },
  ]);
  assert.deepEqual(await list({ name: 'sticky', key: ['ipv4_addr'], value: ['ipv4_addr'] }), [
    { key: '10.0.0.1', value: '10.0.0.2', timeoutSeconds: 90 },
  ]);
  assert.equal((await nftables.listRules(table, 'c'))[0]?.comment, 'two');
});

test('networks written with ours are the ranges that nft lists', async () => {
  const nets: NftSet = { name: 'nets', key: ['ipv4_addr'], isInterval: true };
  const elements = [
    { key: '10.0.0.0/8' },
    { key: '192.0.2.1' },
    { key: '198.51.100.3-198.51.100.9' },
    { key: '240.0.0.0/4' },
  ];
  await nftables.commit(table, [
    { op: 'add-table' },
    { op: 'add-set', set: nets },
    { op: 'add-elements', set: nets, elements },
  ]);
  assert.match(
    nft('list ruleset').replace(/\s+/g, ' '),
    /10\.0\.0\.0\/8, 192\.0\.2\.1, 198\.51\.100\.3-198\.51\.100\.9, 240\.0\.0\.0\/4/,
  );
  await nftables.commit(table, [{ op: 'delete-elements', set: nets, keys: ['192.0.2.1', '240.0.0.0/4'] }]);
  const left = await nftables.listElements(table, nets);
  assert.deepEqual(left.map(({ key }) => key).sort(), ['10.0.0.0/8', '198.51.100.3-198.51.100.9']);
});

test('a refused transaction names its step and changes nothing', async () => {
  await nftables.commit(table, start);
  const elements = [
    { key: 'tcp . 1', value: 'goto c' },
    { key: 'tcp . 2', value: 'goto nowhere' },
    { key: 'tcp . 3', value: 'goto c' },
  ];
  await assert.rejects(
    nftables.commit(table, [
      { op: 'add-chain', chain: { name: 'fine' } },
      { op: 'add-elements', set: ports, elements },
    ]),
    (error) =>
      error instanceof KernelError &&
      error.errno === 'ENOENT' &&
      error.message.startsWith('nftables.commit: change 2 of 2 (add element ports tcp . 2) refused'),
  );
  assert.deepEqual(await nftables.listElements(table, ports), []);
  assert.deepEqual(await nftables.listChains(table), [{ name: 'c' }]);
});

test('a row can change its verdict in one transaction, by deleting and adding it', async () => {
  await nftables.commit(table, [
    ...start,
    { op: 'add-elements', set: ports, elements: [{ key: 'tcp . 80', value: 'goto c' }] },
  ]);
  await nftables.commit(table, [
    { op: 'delete-elements', set: ports, keys: ['tcp . 80'] },
    { op: 'add-elements', set: ports, elements: [{ key: 'tcp . 80', value: 'drop' }] },
  ]);
  assert.deepEqual(await nftables.listElements(table, ports), [
    { key: 'tcp . 80', value: 'drop', packets: 0n, bytes: 0n },
  ]);
});

test('a table can be deleted and made anew in one transaction', async () => {
  nft(
    'table ip t { set ports { type ipv4_addr; }; chain old { drop; }; chain base { type filter hook input priority 0; }; }',
  );
  await nftables.commit(table, [{ op: 'add-table' }, { op: 'delete-table' }, ...start]);
  assert.deepEqual(await nftables.listChains(table), [{ name: 'c' }]);
});

test('a check tells what a commit would, and changes nothing', async () => {
  await nftables.check(table, start);
  assert.equal(await nftables.getTable(table), undefined);
  await assert.rejects(nftables.check(table, [{ op: 'delete-chain', chain: 'c' }]), /ENOENT/);
});

test('a batch of megabytes is taken whole while the event loop goes on, and lists in full', async () => {
  const count = 30_000;
  const ips: NftSet = { name: 'ips', key: ['ipv4_addr'] };
  const elements = Array.from({ length: count }, (_, i) => ({
    key: `10.1.${i >> 8}.${i & 255}`,
    comment: `row ${i} ${'x'.repeat(60)}`,
  }));
  let turns = 0;
  let timer = setImmediate(function count() {
    turns++;
    timer = setImmediate(count);
  });
  await nftables.commit(table, [
    { op: 'add-table' },
    { op: 'add-set', set: ips },
    { op: 'add-elements', set: ips, elements },
  ]);
  clearImmediate(timer);
  assert.ok(turns > 0);
  const held = await nftables.listElements(table, ips);
  assert.equal(new Set(held.map(({ key }) => key)).size, count);
});

test('two requests at once do not take each other’s answers', async () => {
  await nftables.commit(table, start);
  const [chains, , sets] = await Promise.all([
    nftables.listChains(table),
    nftables.commit(table, [{ op: 'add-chain', chain: { name: 'd' } }]),
    nftables.listSets(table),
    assert.rejects(nftables.commit(table, [{ op: 'delete-chain', chain: 'nowhere' }]), /ENOENT/),
  ]);
  assert.equal(chains.length, 1);
  assert.equal(sets.length, 1);
});

test('changes by others are reported, our own and those of other tables are not', async () => {
  const events: NftEvent[] = [];
  const watch = nftables.watch(table, (event) => events.push(event));
  try {
    await nftables.commit(table, start);
    nft('table ip other { chain x { }; }; table ip6 t { chain c { }; }');
    await nftables.commit(table, [{ op: 'add-elements', set: ports, elements: [{ key: 'tcp . 80', value: 'drop' }] }]);
    watch.look();
    assert.deepEqual(events, []);
    nft('delete element ip t ports { tcp . 80 }; add rule ip t c drop');
    watch.look();
    assert.deepEqual(events, [
      { kind: 'changed', object: 'element', isRemoval: true },
      { kind: 'changed', object: 'rule', isRemoval: false },
    ]);
    nft('delete table ip t');
    const isTableGone = (event: NftEvent): boolean => event.kind === 'changed' && event.object === 'table';
    while (!events.some(isTableGone)) await wait(10);
  } finally {
    watch.close();
  }
});

test('a big transaction of our own is no news, and foreign changes beside it are', async () => {
  const ips: NftSet = { name: 'ips', key: ['ipv4_addr'] };
  const rows = (first: number): NftElement[] =>
    Array.from({ length: 50_000 }, (_, i) => ({ key: `10.${first}.${i >> 8}.${i & 255}`, comment: 'x'.repeat(100) }));
  await nftables.commit(table, [{ op: 'add-table' }, { op: 'add-set', set: ips }]);
  const events: NftEvent[] = [];
  const watch = nftables.watch(table, (event) => events.push(event));
  try {
    await nftables.commit(table, [{ op: 'add-elements', set: ips, elements: rows(1) }]);
    watch.look();
    assert.deepEqual(events, []);
    nft('delete element ip t ips { 10.1.0.0 }');
    await nftables.commit(table, [{ op: 'add-elements', set: ips, elements: rows(2) }]);
    assert.deepEqual(events, [{ kind: 'changed', object: 'element', isRemoval: true }]);
  } finally {
    watch.close();
  }
});

test('news that come faster than they are read are reported as an overrun', async () => {
  const kinds: SubscriptionEvent['kind'][] = [];
  const subscription = new Subscription('netfilter', [NFNLGRP_NFTABLES], (event) => kinds.push(event.kind), 4096);
  try {
    nft(
      `table ip t { set ips { type ipv4_addr; elements = { ${Array.from({ length: 250 }, (_, i) => `10.0.0.${i}`)} }; }; }`,
    );
    subscription.look();
    assert.ok(kinds.includes('overrun'));
    kinds.length = 0;
    nft('delete table ip t');
    subscription.look();
    assert.ok(kinds.includes('messages'), 'it goes on after an overrun');
  } finally {
    subscription.close();
  }
});
