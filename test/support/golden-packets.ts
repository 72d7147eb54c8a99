// The recorded questions of one step, asked with real packets.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Network } from '../../src/lab/network/network.ts';
import { type Expected, expectedIn, type GoldenStep, type GoldenTarget, patient } from './golden.ts';

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

const AGENT_PATIENCE_MS = 30_000;

/** The same of a running agent: it has seen the last change when it has, which nothing but an answer tells in every mode. */
export async function meetsInTime(network: Network, probe: GoldenTarget, expected: Expected): Promise<void> {
  const deadline = Date.now() + AGENT_PATIENCE_MS;
  for (;;) {
    const result = await network.probe(patient(probe, expected));
    const { shares: _, ...seen } = 'shares' in result ? result : { ...result, shares: undefined };
    if (isDeepStrictEqual(seen, expected)) return;
    if (Date.now() > deadline) assert.deepEqual(seen, expected, JSON.stringify(probe));
    await delay(500);
  }
}
