// Clusters that change at random, in a real kernel: what is written step by step is what is written at once.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { Iptables } from '../../src/kernel/iptables.ts';
import { Network } from '../../src/lab/network/network.ts';
import { FAMILIES, type Family } from '../../src/lib/ip.ts';
import { apply, kernelState, read } from '../../src/modes/iptables/apply.ts';
import { diff } from '../../src/modes/iptables/diff.ts';
import { normalisedRules } from '../support/golden.ts';
import { runIn } from '../support/iptables-node.ts';
import { FollowingNode } from '../support/iptables-random.ts';
import { type RandomStep, randomSteps } from '../support/random-cluster.ts';

const SEQUENCES = 6;
const SEED = 20260115;
const EMPTY = ['mangle', 'filter', 'nat'].flatMap((table) => [`*${table}`, 'COMMIT', '']).join('\n');

for (const variant of ['nft', 'legacy'] as const) {
  describe(`a cluster that changes at random, iptables-${variant}, seed ${SEED}`, () => {
    let network: Network;
    before(async () => {
      network = await Network.open({ hosts: [{ name: 'following' }, { name: 'fresh' }], links: [] });
    });
    after(() => network.close());

    for (const family of FAMILIES) {
      const sequences = fc.sample(randomSteps(10, 8), { seed: SEED, numRuns: SEQUENCES });
      for (const [i, steps] of sequences.entries()) {
        test(`${family}, sequence ${i + 1} of ${steps.length} steps`, async () => {
          await Promise.all(['following', 'fresh'].map((host) => flush(network, host, family, variant)));
          const following = new Iptables(family, variant, runIn(network, 'following'));
          const fresh = new Iptables(family, variant, runIn(network, 'fresh'));
          await follow(following, fresh, steps, () => flush(network, 'fresh', family, variant));
        });
      }
    }
  });
}

async function follow(
  following: Iptables,
  fresh: Iptables,
  steps: readonly RandomStep[],
  flushFresh: () => Promise<void>,
): Promise<void> {
  const node = new FollowingNode(following.family);
  for (const step of steps) {
    await apply(following, await node.step(step, () => read(following)));
    await flushFresh();
    await apply(fresh, diff(kernelState(''), node.freshPlan()));
    const [after, wanted] = await Promise.all([following.save(), fresh.save()]);
    assert.equal(normalisedRules(after), normalisedRules(wanted));
  }
}

/** Without --noflush, a table that is named is emptied first. */
async function flush(network: Network, host: string, family: Family, variant: string): Promise<void> {
  const program = `${family === 'IPv4' ? 'iptables' : 'ip6tables'}-${variant}-restore`;
  const { status, stderr } = await network.exec(host, [program], { stdin: EMPTY });
  assert.equal(status, 0, stderr);
}
