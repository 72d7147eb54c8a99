// What holds for any sequence of changes of a cluster: a node that follows it holds what a node would that starts now.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { FAMILIES, type Family } from '../../src/lib/ip.ts';
import { kernelState } from '../../src/modes/iptables/apply.ts';
import { diff } from '../../src/modes/iptables/diff.ts';
import { print } from '../../src/modes/iptables/print.ts';
import { normalisedRules } from '../support/golden.ts';
import { IptablesMemory } from '../support/iptables-memory.ts';
import { FollowingNode } from '../support/iptables-random.ts';
import { type RandomStep, randomSteps } from '../support/random-cluster.ts';

const LAST = 'NOTE: this must be the last rule in this chain';

describe('after any changes of a cluster', () => {
  for (const family of FAMILIES) {
    test(`the incremental rules are the full ones, ${family}`, () =>
      fc.assert(
        fc.asyncProperty(randomSteps(8), (steps) => follow(family, steps)),
        { numRuns: 300 },
      ));
  }
});

async function follow(family: Family, steps: readonly RandomStep[]): Promise<void> {
  const node = new FollowingNode(family);
  const kernel = new IptablesMemory();
  for (const step of steps) {
    const change = await node.step(step, async () => kernelState(kernel.save()));
    kernel.restore(change.lines);

    const wanted = node.freshPlan();
    const fresh = new IptablesMemory();
    fresh.restore(diff(kernelState(new IptablesMemory().save()), wanted).lines);
    assert.equal(normalisedRules(kernel.save()), normalisedRules(fresh.save()));
    assert.deepEqual(node.plan.ruleCounts, wanted.ruleCounts, 'the counts are kept up to date');
    assertNodePortsLast(kernel.rules('nat', 'KUBE-SERVICES'));

    const printed = new IptablesMemory();
    printed.restore(print(wanted).trimEnd().split('\n'));
    assert.equal(normalisedRules(printed.save()), normalisedRules(fresh.save()), 'what is printed is what is loaded');
  }
}

function assertNodePortsLast(rules: readonly string[]): void {
  const first = rules.findIndex((rule) => rule.includes(LAST));
  if (first >= 0)
    assert.ok(
      rules.slice(first).every((rule) => rule.includes(LAST)),
      'node ports come last',
    );
}
