// The recorded questions of one step, asked with real packets.
import assert from 'node:assert/strict';
import type { Network } from '../../src/lab/network/network.ts';
import { expectedIn, type GoldenStep, patient } from './golden.ts';

/** Clients ask side by side, each its own questions one after another. */
export async function askRecorded(network: Network, step: GoldenStep, mode: 'iptables' | 'nftables'): Promise<void> {
  const probes = (step.probes ?? []).filter((probe) => 'proto' in probe); // pages are the running agent's
  const byClient = Map.groupBy(probes, ({ from }) => from);
  await Promise.all(
    [...byClient.values()].map(async (ofClient) => {
      for (const probe of ofClient) {
        const expected = expectedIn(mode, probe);
        const { shares: _, ...result } = await network.probe(patient(probe, expected));
        assert.deepEqual(result, expected, JSON.stringify(probe));
      }
    }),
  );
}
