// Every recorded cluster, and clusters at random, in a real kernel: what the pipeline writes step by step is what it writes at
// once, what `nft -f` makes of the printed plan, and what it reads back.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test, { after, afterEach } from 'node:test';
import fc from 'fast-check';
import { Nftables } from '../../src/kernel/nftables.ts';
import { continueInSandbox } from '../../src/lab/sandbox.ts';
import { FAMILIES, type Family, familyOf } from '../../src/lib/ip.ts';
import { read } from '../../src/modes/nftables/apply.ts';
import { diff, transactionsOf } from '../../src/modes/nftables/diff.ts';
import { print } from '../../src/modes/nftables/print.ts';
import { sync } from '../../src/pipeline.ts';
import { TestCluster } from '../support/cluster.ts';
import { GOLDEN_BASE, GOLDEN_NODES, goldenCases, type Manifest } from '../support/golden.ts';
import { listTable, type NftablesNode, nftablesNode } from '../support/nftables-node.ts';
import { type RandomStep, randomSteps } from '../support/random-cluster.ts';

continueInSandbox(import.meta.url);

const nftables = new Nftables();
after(() => nftables.close());
afterEach(() => nft('flush ruleset'));

function nft(text: string): void {
  execFileSync('nft', ['-f', '-'], { input: text, stdio: ['pipe', 'ignore', 'inherit'] });
}

/** The kernel holds the plan, and nothing else: read back there is nothing to do but write the rules anew. */
async function assertHeld(node: NftablesNode): Promise<void> {
  const change = diff(await read(node.drivers), node.plan!);
  const kinds = new Set(
    transactionsOf(change)
      .flat()
      .map(({ op }) => op),
  );
  assert.deepEqual([...kinds].sort(), ['add-rule', 'add-table', 'flush-chain']);
  const incremental = listTable(node.family);
  nft(`delete table ${node.family === 'IPv4' ? 'ip' : 'ip6'} kube-proxy`);
  nft(print(node.plan!));
  assert.equal(incremental, listTable(node.family), 'incremental, and printed');
}

for (const golden of goldenCases()) {
  test(`${golden.name}: the printed plan, the steps and the reading agree`, async () => {
    const cluster = new TestCluster().apply(...GOLDEN_NODES, ...GOLDEN_BASE);
    const nodes = FAMILIES.map((family) => nftablesNode(nftables, cluster.tracker, family));
    for (const step of golden.steps) {
      cluster.delete(...(step.delete ?? [])).apply(...(step.apply ?? []));
      for (const node of nodes) await sync(node);
    }
    for (const node of nodes) await assertHeld(node);
  });
}

test('the host’s tools list everything that can be in our tables, and load what they listed', async () => {
  const cluster = new TestCluster().apply(...GOLDEN_NODES, ...GOLDEN_BASE);
  for (const { name, steps } of goldenCases()) {
    // Every case calls its Service by the same name; here they live side by side.
    cluster.apply(...(steps[0]!.apply ?? []).map((manifest) => inNamespace(manifest, name)));
  }
  for (const family of FAMILIES) await sync(nftablesNode(nftables, cluster.tracker, family));
  const tables = FAMILIES.map(listTable);
  const run = (program: string, ...args: string[]): string =>
    execFileSync(program, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, stdio: ['ignore', 'pipe', 'ignore'] });
  const listed = run('nft', 'list', 'ruleset');
  assert.doesNotThrow(() => JSON.parse(run('nft', '-j', 'list', 'ruleset')));
  run('iptables-save');
  run('ip6tables-save');
  nft(`flush ruleset\n${listed}`);
  assert.deepEqual(FAMILIES.map(listTable), tables);
});

function inNamespace(manifest: Manifest, namespace: string): Manifest {
  return { ...manifest, metadata: { ...manifest.metadata, namespace } };
}

test('any sequence of changes leads to the table that its last state makes at once', async () => {
  const options = fc.record({
    family: fc.constantFrom(...FAMILIES),
    releasesChainsAtOnce: fc.boolean(),
    hasAllNodePorts: fc.boolean(),
  });
  const lead = async (steps: readonly RandomStep[], { family, releasesChainsAtOnce, hasAllNodePorts }: Options) => {
    nft('flush ruleset');
    const cluster = new TestCluster().apply(...GOLDEN_NODES);
    let ips: readonly string[] | undefined;
    const node = nftablesNode(nftables, cluster.tracker, family, () => ({
      releasesChainsAtOnce,
      nodePortAddresses: ips ? { kind: 'some', ips: ips.filter((ip) => familyOf(ip) === family) } : { kind: 'all' },
    }));
    for (const step of steps) {
      cluster.delete(...step.delete).apply(...step.apply);
      ips = hasAllNodePorts ? undefined : step.nodePortIps;
      if (step.forgets) node.held = undefined;
      await sync(node);
    }
    // Where chains wait for the next change to be deleted, some may be left that nothing leads to.
    await sync(node);
    if (releasesChainsAtOnce) await assertHeld(node);
  };
  await fc.assert(fc.asyncProperty(randomSteps(8), options, lead), { numRuns: 40 });
});

interface Options {
  readonly family: Family;
  readonly releasesChainsAtOnce: boolean;
  readonly hasAllNodePorts: boolean;
}
