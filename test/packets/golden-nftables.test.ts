// Every recorded cluster through the pipeline in nftables mode into a real kernel: every packet meets the recorded fate. Steps are
// applied incrementally, as the agent does.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { golden as goldenTopology } from '../../src/lab/network/golden.ts';
import { Network } from '../../src/lab/network/network.ts';
import { FAMILIES, type Family } from '../../src/lib/ip.ts';
import type { NftablesFacts } from '../../src/modes/nftables/facts.ts';
import {
  expectedIn,
  GOLDEN_BASE,
  GOLDEN_NODES,
  type GoldenCase,
  type GoldenStep,
  goldenCases,
  type Manifest,
  patient,
} from '../support/golden.ts';
import { nftablesFacts } from '../support/nftables-node.ts';
import { NftablesRemote } from '../support/nftables-remote.ts';

const SERVICE_CIDR: Manifest = {
  kind: 'ServiceCIDR',
  metadata: { name: 'kubernetes' },
  spec: { cidrs: ['10.96.0.0/12', 'fd00:10:96::/112'] },
};

describe('recorded clusters, nftables', () => {
  let network: Network;
  let remote: NftablesRemote;
  before(async () => {
    network = await Network.open(goldenTopology);
    remote = await NftablesRemote.start(network, 'n1');
  });
  after(async () => {
    await remote?.stop();
    await network.close();
  });

  for (const golden of goldenCases()) {
    test(`${golden.name}: ${golden.about}`, async () => {
      const facts = Object.fromEntries(FAMILIES.map((family) => [family, factsOf(golden, family)]));
      await remote.tell({ restarts: true, facts, apply: [...GOLDEN_NODES, ...GOLDEN_BASE, SERVICE_CIDR] });
      await network.exec('n1', ['conntrack', '-F']);
      for (const step of golden.steps) {
        await remote.tell({ delete: step.delete ?? [], apply: step.apply ?? [] });
        await delay((step.wait ?? 0) * 1000);
        await probeAll(network, step);
      }
    });
  }
});

/** Clients ask side by side, each its own questions one after another. */
async function probeAll(network: Network, step: GoldenStep): Promise<void> {
  const probes = (step.probes ?? []).filter((probe) => 'proto' in probe); // pages are the running agent's
  const byClient = Map.groupBy(probes, ({ from }) => from);
  await Promise.all(
    [...byClient.values()].map(async (ofClient) => {
      for (const probe of ofClient) {
        const expected = expectedIn('nftables', probe);
        const { shares: _, ...result } = await network.probe(patient(probe, expected));
        assert.deepEqual(result, expected, JSON.stringify(probe));
      }
    }),
  );
}

function factsOf({ config }: GoldenCase, family: Family): NftablesFacts {
  const facts = nftablesFacts(family);
  const nodeCidr = family === 'IPv4' ? '10.244.1.0/24' : 'fd00:10:244:1::/64';
  return {
    ...facts,
    ...(config?.detectLocalMode === 'NodeCIDR' && { detector: { kind: 'source', cidr: nodeCidr } }),
    ...(config && 'nftables' in config && { masqueradeAll: true }),
  };
}
