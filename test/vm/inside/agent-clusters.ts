// Recorded clusters through the running agent in IPVS mode: objects at a real HTTP API, packets and pages at the other end. All of them
// go through the pipeline in packets.ts; these are the ones that bring an agent to do something of its own.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { KubeObject } from '../../../src/lab/apiserver/object.ts';
import { until } from '../../support/agent.ts';
import type { AgentBed } from '../../support/agent-bed.ts';
import { type GoldenCase, type GoldenProbe, goldenCases, type Manifest } from '../../support/golden.ts';
import { startAgent } from './agent-host.ts';
import { isExpected } from './packets.ts';

const TOLD = [
  'affinity-fails-over',
  'dual-stack',
  'external-policy-local',
  'hairpin',
  'internal-policy-local-none-here',
  'loadbalancer-local',
  'loadbalancer-source-ranges',
  'no-endpoints-udp',
  'policy-changes',
  'service-comes-and-goes',
  'terminating-beside-ready',
];

const PATIENCE_MS = 60_000;

export function clusterTests(bed: () => AgentBed): void {
  before(() => startAgent(bed(), 'ipvs', { ipvs: { minSyncPeriod: '100ms' } }));
  for (const golden of goldenCases().filter(({ name }) => TOLD.includes(name))) {
    test(`${golden.name}: ${golden.about}`, () => play(bed(), golden));
  }
}

async function play(bed: AgentBed, golden: GoldenCase): Promise<void> {
  await bed.network.exec('n1', ['conntrack', '-F']);
  for (const [i, step] of golden.steps.entries()) {
    bed.delete(...(step.delete ?? []));
    for (const manifest of step.apply ?? []) bed.server.apply(replacement(manifest));
    for (const probe of step.probes ?? []) await meets(bed, golden, i, probe);
  }
  bed.delete(...golden.steps.flatMap(({ apply }) => apply ?? []));
}

/** Asked until it is so: a change takes its time, and an emulated machine may take longer over a packet than a client waits. */
async function meets(bed: AgentBed, golden: GoldenCase, step: number, probe: GoldenProbe): Promise<void> {
  let met: unknown;
  const isMet = async (): Promise<boolean> => {
    const result = await bed.network.probe(
      'proto' in probe ? { ...probe, count: Math.min(probe.count ?? 60, 8) } : probe,
    );
    const { shares: _, ...seen } = 'shares' in result ? result : { ...result, shares: undefined };
    met = seen;
    return isExpected(golden, step, probe, seen);
  };
  await until(isMet, PATIENCE_MS, () => {
    assert.deepEqual(met, probe.expect, `step ${step} ${JSON.stringify(probe)}\n${bed.agent.log.slice(-1000)}`);
    return 'it was so at last, too late';
  });
}

/** Replaced as a whole: a Service that says nothing of its ingress addresses has none. */
function replacement(manifest: Manifest): KubeObject {
  return (manifest.kind === 'Service' ? { status: { loadBalancer: {} }, ...manifest } : manifest) as KubeObject;
}
