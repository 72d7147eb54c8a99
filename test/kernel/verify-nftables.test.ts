// Verification of nftables mode against a real kernel: the table, as the kernel tells it over netlink and as nft lists it, does what the
// objects mean, and every fault in it is found and blamed on the right row or rule.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, describe, test } from 'node:test';
import { KernelError } from '../../src/kernel/error.ts';
import { type RunProcess, runProcess } from '../../src/kernel/process.ts';
import { continueInSandbox } from '../../src/lab/sandbox.ts';
import { nftablesMode } from '../../src/modes/nftables/nftables.ts';
import { type KernelRules, kernelRules } from '../../src/observe/live/kernel-rules.ts';
import { TRACE_MODES } from '../../src/observe/live/modes.ts';
import { readTable } from '../../src/observe/live/nft-netlink.ts';
import type { CauseKind } from '../../src/observe/verify/cause.ts';
import type { Drift } from '../../src/observe/verify/drift.ts';
import { type VerifyReport, verify } from '../../src/observe/verify/verify.ts';
import { TestCluster } from '../support/cluster.ts';
import { GOLDEN_BASE, GOLDEN_NODES } from '../support/golden.ts';
import { nftablesFacts } from '../support/nftables-node.ts';
import { FAULTY_CLUSTER, mismatchesInParts, nftablesInputOf, nftablesVerifyInput } from '../support/verify.ts';

continueInSandbox(import.meta.url);

interface Fault {
  readonly title: string;
  readonly inject: readonly string[];
  readonly finds: readonly (CauseKind | Drift['kind'])[];
}

const OURS = 'ip kube-proxy';
const FAULTS: readonly Fault[] = [
  {
    title: 'a frontend’s row is deleted',
    inject: [`delete element ${OURS} service-ips { 10.96.1.1 . tcp . 80 }`],
    finds: ['missing-row'],
  },
  {
    title: 'an endpoint’s row is deleted',
    inject: [`delete element ${OURS} endpoints-tcp { 10.96.1.1 . 80 . 1 }`],
    finds: ['missing-row'],
  },
  {
    title: 'an endpoint’s row leads to where it was before',
    inject: [
      `delete element ${OURS} endpoints-tcp { 10.96.1.1 . 80 . 1 }`,
      `add element ${OURS} endpoints-tcp { 10.96.1.1 . 80 . 1 : 10.244.2.77 . 8080 }`,
    ],
    finds: ['stale-endpoint'],
  },
  {
    title: 'a row picks from too few endpoints',
    inject: [
      `delete element ${OURS} service-ips { 10.96.1.1 . tcp . 80 }`,
      `add element ${OURS} service-ips { 10.96.1.1 . tcp . 80 : goto pick-tcp-2 }`,
    ],
    finds: ['wrong-row'],
  },
  {
    title: 'a Service that is gone is still answered',
    inject: [`add element ${OURS} service-ips { 10.96.99.99 . tcp . 80 : goto pick-tcp-2 }`],
    finds: ['extra-row'],
  },
  {
    title: 'the hairpin row of an endpoint is deleted',
    inject: [`delete element ${OURS} hairpin-connections { 10.244.1.11 . 10.244.1.11 . tcp . 8080 }`],
    finds: ['missing-row'],
  },
  {
    title: 'a cluster IP is not known as one',
    inject: [`delete element ${OURS} cluster-ips { 10.96.1.1 }`],
    finds: ['missing-row'],
  },
  {
    title: 'the refusal of a Service without endpoints is deleted',
    inject: [`delete element ${OURS} no-endpoint-services { 10.96.1.4 . tcp . 80 }`],
    finds: ['missing-row'],
  },
  {
    title: 'the guard of an address is gone',
    inject: [`delete element ${OURS} firewall-ips { 203.0.113.10 . tcp . 80 }`],
    finds: ['missing-row'],
  },
  { title: 'a chain is flushed', inject: [`flush chain ${OURS} services`], finds: ['emptied-chain'] },
  {
    title: 'masquerading returns at once',
    inject: [`insert rule ${OURS} masquerading return`],
    finds: ['extra-rule'],
  },
  {
    title: 'somebody drops forwarded packets in a table of their own',
    inject: [
      'add table inet firewall',
      'add chain inet firewall forward { type filter hook forward priority 0 ; policy accept ; }',
      'add rule inet firewall forward tcp dport 8080 drop',
    ],
    finds: ['foreign-rule'],
  },
  {
    title: 'somebody’s table drops what it does not know',
    inject: [
      'add table inet firewall',
      'add chain inet firewall forward { type filter hook forward priority 10 ; policy drop ; }',
      'add rule inet firewall forward ct state established,related accept',
    ],
    finds: ['foreign-policy'],
  },
  {
    title: 'somebody translates first',
    inject: [
      'add table ip mine',
      'add chain ip mine pre { type nat hook prerouting priority dstnat - 5 ; }',
      'add rule ip mine pre ip daddr 10.96.1.1 tcp dport 80 dnat to 192.0.2.1:80',
    ],
    finds: ['foreign-rule'],
  },
];

const cluster = new TestCluster().apply(...GOLDEN_NODES, ...GOLDEN_BASE, ...FAULTY_CLUSTER);
const input = nftablesVerifyInput(cluster.tracker, nftablesFacts('IPv4'), undefined);
const mode = TRACE_MODES.nftables;

const withoutNft: RunProcess = async (program, ...rest) => {
  if (program === 'nft') throw new KernelError('TOOL_MISSING', { operation: 'nft', detail: 'not installed' });
  return runProcess(program, ...rest);
};

function nft(...lines: readonly string[]): void {
  execFileSync('nft', ['-f', '-'], { input: `${lines.join('\n')}\n` });
}

function load(): void {
  nft('flush ruleset', nftablesMode.print(nftablesMode.plan(input.model, nftablesFacts('IPv4'))));
}

async function report(rules: Promise<KernelRules>): Promise<VerifyReport> {
  return verify({ ...input, held: (await rules).ruleset });
}

function assertHealthy({ mismatches, drift, unjudged }: VerifyReport): void {
  assert.deepEqual({ mismatches, drift, unjudged }, { mismatches: [], drift: [], unjudged: [] });
}

function assertFinds({ mismatches, drift }: VerifyReport, finds: Fault['finds']): void {
  const found = new Set([...mismatches.map(({ cause }) => cause.kind), ...drift.map(({ kind }) => kind)]);
  assert.deepEqual([...found].sort(), finds, JSON.stringify({ mismatches, drift }, undefined, 1));
}

after(() => nft('flush ruleset'));

for (const [reading, own] of [
  ['over netlink', readTable],
  ['as nft lists it', 'listed'],
] as const) {
  describe(`verification finds what is wrong in a kernel’s nftables, ${reading}`, () => {
    test('a healthy node has nothing to complain about', async () => {
      load();
      assertHealthy(await report(kernelRules('IPv4', mode, runProcess, own)));
    });

    for (const { title, inject, finds } of FAULTS) {
      test(title, async () => {
        load();
        nft(...inject);
        assertFinds(await report(kernelRules('IPv4', mode, runProcess, own)), finds);
      });
    }
  });
}

describe('verification of one Service after the other, of what concerns each, finds the same', () => {
  const inParts = (): ReturnType<typeof mismatchesInParts> =>
    mismatchesInParts(input.model, async (part, concern) => {
      const { ruleset } = await kernelRules('IPv4', { ...mode, concern });
      return nftablesInputOf(part, nftablesFacts('IPv4'), ruleset);
    });

  test('on a healthy node, which is nothing', async () => {
    load();
    assert.deepEqual(await inParts(), []);
  });

  for (const { title, inject } of FAULTS) {
    test(title, async () => {
      load();
      nft(...inject);
      assert.deepEqual(await inParts(), (await report(kernelRules('IPv4', mode))).mismatches);
    });
  }
});

describe('verification where nft is not installed', () => {
  test('a healthy node has nothing to complain about, and the source says what could not be read', async () => {
    load();
    const rules = kernelRules('IPv4', mode, withoutNft, readTable);
    assertHealthy(await report(rules));
    assert.match(
      (await rules).source,
      /^in the kernel \(without others’ tables .* nft, which lists them, is not installed/,
    );
  });

  test('a fault in the proxy’s own table is found', async () => {
    load();
    nft(...FAULTS[0]!.inject);
    assertFinds(await report(kernelRules('IPv4', mode, withoutNft, readTable)), FAULTS[0]!.finds);
  });

  test('a rule that is not understood is told as one, by its handle, and what it may do is not judged', async () => {
    load();
    nft(`insert rule ${OURS} services ip ttl 3 drop`);
    const { drift, unjudged } = await report(kernelRules('IPv4', mode, withoutNft, readTable));
    assert.deepEqual(
      drift.map((found) => 'rule' in found && found.rule.replace(/\d+/, 'N')),
      ['unknown rule (handle N)'],
    );
    assert.ok(unjudged.length > 0);
  });

  test('without a socket to ask there is no answer', async () => {
    await assert.rejects(kernelRules('IPv4', mode, withoutNft, 'listed'), { code: 'TOOL_MISSING' });
  });
});
