// The walker's two ways to the kernel's nf_tables, against each other: what netlink tells of a table is what nft lists of it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test, { after, afterEach } from 'node:test';
import { Nftables } from '../../src/kernel/nftables.ts';
import { continueInSandbox } from '../../src/lab/sandbox.ts';
import { FAMILIES, type Family } from '../../src/lib/ip.ts';
import { resolveNode } from '../../src/model/resolve.ts';
import { TABLE_NAME } from '../../src/modes/nftables/names.ts';
import { nftablesMode } from '../../src/modes/nftables/nftables.ts';
import { readTable } from '../../src/observe/live/nft-netlink.ts';
import { parseNftList } from '../../src/observe/trace/nft-list.ts';
import type { Table } from '../../src/observe/trace/ruleset.ts';
import { sync } from '../../src/pipeline.ts';
import { TestCluster } from '../support/cluster.ts';
import { GOLDEN_BASE, GOLDEN_NODES, goldenCases } from '../support/golden.ts';
import { nftablesFacts, nftablesNode } from '../support/nftables-node.ts';
import { FAULTY_CLUSTER, N1 } from '../support/verify.ts';

continueInSandbox(import.meta.url);

const nftables = new Nftables();
after(() => nftables.close());
afterEach(() => nft('flush ruleset'));

function nft(text: string): string {
  return execFileSync('nft', ['-f', '-'], { input: text, encoding: 'utf8' });
}

function listed(family: Family): Table | undefined {
  // nft lists `dnat to … map @map:80` for what it reads as `dnat ip to … map @map : 80`, and that is how the plan is printed.
  const text = nft('list ruleset').replace(/ dnat to (ip6?)( saddr map @\S+):(\d+)$/gm, ' dnat $1 to $1$2 : $3');
  return parseNftList(text, family).tables.find(({ name }) => name === TABLE_NAME);
}

async function assertSame(family: Family): Promise<void> {
  assert.deepEqual(await readTable({ family, name: TABLE_NAME }), listed(family));
}

for (const golden of goldenCases()) {
  test(`${golden.name}: netlink and nft tell the same`, async () => {
    const cluster = new TestCluster().apply(...GOLDEN_NODES, ...GOLDEN_BASE);
    for (const step of golden.steps) cluster.delete(...(step.delete ?? [])).apply(...(step.apply ?? []));
    for (const family of FAMILIES) {
      await sync(nftablesNode(nftables, cluster.tracker, family));
      await assertSame(family);
    }
  });
}

test('netlink and nft tell the same of what nft loaded', async () => {
  const cluster = new TestCluster().apply(...GOLDEN_NODES, ...GOLDEN_BASE, ...FAULTY_CLUSTER);
  for (const family of FAMILIES) {
    const model = resolveNode(cluster.tracker.take(family), N1);
    nft(nftablesMode.print(nftablesMode.plan(model, nftablesFacts(family))));
    await assertSame(family);
  }
});

for (const detector of [
  { kind: 'interface', name: 'cbr0' },
  { kind: 'interface-prefix', prefix: 'veth' },
  { kind: 'source', cidr: '10.240.0.0/13' },
  { kind: 'source', cidr: '0.0.0.0/0' },
  { kind: 'none' },
] as const) {
  test(`pods told by ${Object.values(detector).join(' ')} are told the same`, async () => {
    const cluster = new TestCluster().apply(...GOLDEN_NODES, ...GOLDEN_BASE, ...goldenCases()[0]!.steps[0]!.apply!);
    const facts = {
      detector,
      masqueradeAll: true,
      localhostNodePorts: true,
      nodePortAddresses: { kind: 'all' },
    } as const;
    await sync(nftablesNode(nftables, cluster.tracker, 'IPv4', () => facts));
    await assertSame('IPv4');
  });
}

test('there is no table where there is none', async () => {
  assert.equal(await readTable({ family: 'IPv4', name: TABLE_NAME }), undefined);
});

test('policies, and rules and elements that others put into the table, are told the same', async () => {
  nft(`table ip ${TABLE_NAME} {
    set nets { type ipv4_addr; flags interval; elements = { 10.0.0.0/8, 192.0.2.1, 192.0.2.7-192.0.2.9 } }
    chain c { type filter hook forward priority 7; policy drop;
      ip saddr @nets accept
      ip saddr != { 10.0.0.0/9, 172.16.0.0/12 } drop
      ip daddr 10.1.2.3 tcp dport 80 drop
      meta l4proto udp th sport 53 return
      ct state established,related accept
      meta mark 0x00000007 accept
      meta mark & 0x0000000f == 0x00000003 accept
      meta mark set 0x00000005
      meta mark set meta mark & 0x0000ffff ^ 0x00000001
      fib daddr type != local return
      iifname != "eth0" drop comment "only there"
      meta l4proto . th dport vmap { tcp . 80 : accept }
    }
    chain n { type nat hook prerouting priority dstnat;
      ip daddr 10.1.2.3 tcp dport 80 dnat to 192.0.2.7:8080
    }
  }`);
  await assertSame('IPv4');
});

test('what cannot be told is an unknown rule, and never half of one', async () => {
  const rules = [
    'ip ttl 3 drop',
    'ip daddr 10.1.2.3 counter drop',
    'ct state != new drop',
    'ct mark 3 drop',
    'limit rate 3/second accept',
    'meta mark set 1 ip daddr 10.1.2.3 drop',
    'tcp dport { 80-90 } drop',
    'reject with icmp host-unreachable',
    'ip daddr . tcp dport vmap @others',
  ];
  nft(`table ip ${TABLE_NAME} {
    map others { typeof ip daddr . tcp dport : verdict; elements = { * : drop } }
    chain c { type filter hook input priority 0;
      ${rules.join('\n')}
    }
  }`);
  const table = await readTable({ family: 'IPv4', name: TABLE_NAME });
  for (const [i, rule] of table!.chains.get('c')!.rules.entries()) {
    assert.match(rule.text, /^unknown rule \(handle \d+\)$/, rules[i]);
    assert.deepEqual(
      [rule.matches.map(({ kind }) => kind), rule.statements.map(({ kind }) => kind)],
      [['unknown'], ['unknown']],
    );
  }
  assert.deepEqual([...table!.sets.get('others')!.elements], [['*', 'drop']]);
});
