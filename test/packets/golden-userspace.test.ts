// Every recorded cluster through userspace mode: each packet meets the recorded fate, but for what follows from a relay in
// between.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { golden as goldenTopology } from '../../src/lab/network/golden.ts';
import { Network } from '../../src/lab/network/network.ts';
import type { PacketProbe } from '../../src/lab/network/probe.ts';
import {
  expectedIn,
  GOLDEN_BASE,
  GOLDEN_NODES,
  type GoldenCase,
  type GoldenProbe,
  goldenCases,
  type Manifest,
  patient,
} from '../support/golden.ts';
import { throughRelays } from './userspace-differences.ts';
import { UserspaceNode } from './userspace-node.ts';

describe('recorded clusters, userspace mode', () => {
  let network: Network;
  let node: UserspaceNode;
  let applied: Manifest[] = [];
  before(async () => {
    network = await Network.open(goldenTopology);
    node = await UserspaceNode.start(network);
    await node.sync([...GOLDEN_NODES, ...GOLDEN_BASE]);
  });
  after(async () => {
    await node.close();
    await network.close();
  });

  for (const golden of goldenCases()) {
    test(`${golden.name}: ${golden.about}`, async () => {
      await network.exec('n1', ['conntrack', '-F']);
      let gone = applied;
      applied = golden.steps.flatMap(({ apply }) => apply ?? []);
      for (const [i, step] of golden.steps.entries()) {
        await node.sync(step.apply ?? [], [...gone, ...(step.delete ?? [])]);
        gone = [];
        await delay((step.wait ?? 0) * 1000);
        await probeAll(golden, i, step.probes ?? []);
      }
    });
  }

  /** Clients ask side by side, each its own questions one after another. */
  async function probeAll(golden: GoldenCase, step: number, probes: readonly GoldenProbe[]): Promise<void> {
    const packets = probes.filter((probe) => 'proto' in probe); // pages are the running agent's
    const byClient = Map.groupBy(packets, ({ from }) => from);
    const surprises = await Promise.all(
      [...byClient.values()].map(async (ofClient) => {
        const found: string[] = [];
        for (const probe of ofClient) {
          const { expect } = throughRelays(golden.name, step, probe, expectedIn('iptables', probe));
          const { shares: _, ...seen } = await network.probe(patient(probe, expect) as PacketProbe);
          if (!isDeepStrictEqual(seen, expect))
            found.push(`step ${step} ${JSON.stringify(probe)} met ${JSON.stringify(seen)}`);
        }
        return found;
      }),
    );
    assert.deepEqual(surprises.flat(), []);
  }
});
