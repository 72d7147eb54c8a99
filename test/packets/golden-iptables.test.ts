// Every recorded cluster through the pipeline into a real kernel: the rules read back equal upstream's, and every packet
// meets the recorded fate. Steps are applied incrementally, as the agent does.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { IptablesVariant } from '../../src/kernel/iptables.ts';
import { golden as goldenTopology } from '../../src/lab/network/golden.ts';
import { Network } from '../../src/lab/network/network.ts';
import { FAMILIES } from '../../src/lib/ip.ts';
import { sync } from '../../src/pipeline.ts';
import { TestCluster } from '../support/cluster.ts';
import {
  GOLDEN_BASE,
  GOLDEN_NODES,
  type GoldenCase,
  goldenCases,
  normalisedRules,
  recordedRules,
} from '../support/golden.ts';
import { askRecorded } from '../support/golden-packets.ts';
import { goldenFacts, iptablesNode } from '../support/iptables-node.ts';

for (const variant of ['nft', 'legacy'] as const) {
  describe(`recorded clusters, iptables-${variant}`, () => {
    let network: Network;
    before(async () => {
      network = await Network.open(goldenTopology);
      await network.exec('n1', ['sysctl', '-qw', 'net.ipv4.conf.all.route_localnet=1']);
    });
    after(() => network.close());

    for (const golden of goldenCases()) {
      test(`${golden.name}: ${golden.about}`, () => play(network, golden, variant));
    }
  });
}

async function play(network: Network, golden: GoldenCase, variant: IptablesVariant): Promise<void> {
  const cluster = new TestCluster().apply(...GOLDEN_NODES, ...GOLDEN_BASE);
  const nodes = FAMILIES.map((family) =>
    iptablesNode(network, cluster.tracker, family, { variant, facts: goldenFacts(golden, family) }),
  );
  await network.exec('n1', ['conntrack', '-F']);
  for (const [i, step] of golden.steps.entries()) {
    cluster.delete(...(step.delete ?? [])).apply(...(step.apply ?? []));
    for (const node of nodes) {
      const { wasFull } = await sync(node);
      assert.equal(wasFull, i === 0, 'only the first step may read the kernel');
      const rules = normalisedRules(await node.drivers.save());
      assert.equal(
        rules,
        normalisedRules(recordedRules(golden, i, node.family)),
        `${node.family} rules after step ${i + 1}`,
      );
    }
    await delay((step.wait ?? 0) * 1000);
    await askRecorded(network, step, 'iptables');
  }
}
