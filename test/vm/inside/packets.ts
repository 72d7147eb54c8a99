// Every recorded cluster through IPVS mode into a real kernel: each packet meets the fate that was recorded of upstream's iptables
// or nftables mode, or one that this mode's nature explains.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { PacketProbe } from '../../../src/lab/network/probe.ts';
import type { World } from '../../../src/lab/network/world.ts';
import {
  type Expected,
  expectedIn,
  type GoldenCase,
  type GoldenProbe,
  goldenCases,
  type Manifest,
} from '../../support/golden.ts';
import { type Bench, facts } from './bench.ts';
import { differenceOf } from './differences.ts';

/** `bench`: the network, once it is there. */
export function packetTests(bench: () => Bench): void {
  let applied: Manifest[] = [];
  after(() => {
    bench().cluster.delete(...applied);
  });
  for (const golden of goldenCases()) {
    test(`${golden.name}: ${golden.about}`, async () => {
      const { cluster, node, world } = bench();
      cluster.delete(...applied);
      applied = golden.steps.flatMap(({ apply }) => apply ?? []);
      node.facts = (family) => facts(golden, family);
      for (const [i, step] of golden.steps.entries()) {
        cluster.delete(...(step.delete ?? [])).apply(...(step.apply ?? []));
        await node.sync();
        await delay((step.wait ?? 0) * 1000);
        await probeAll(world, golden, i, step.probes ?? []);
      }
    });
  }
}

/** One question after another: an emulated machine has no time for many at once. */
async function probeAll(world: World, golden: GoldenCase, step: number, probes: readonly GoldenProbe[]): Promise<void> {
  const surprises: string[] = [];
  for (const probe of probes) {
    const surprise = 'proto' in probe ? await surpriseOf(world, golden, step, probe) : undefined;
    if (surprise) surprises.push(surprise);
  }
  assert.deepEqual(surprises, []);
}

/** An emulated machine may take longer over a packet than a client waits, so what surprises is asked again. */
async function surpriseOf(
  world: World,
  golden: GoldenCase,
  step: number,
  probe: GoldenProbe & PacketProbe,
): Promise<string | undefined> {
  let met = '';
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { shares: _, ...result } = await world.probePackets(fewer(probe));
    if (isExpected(golden, step, probe, result)) return undefined;
    met = JSON.stringify(result);
  }
  return `step ${step} ${JSON.stringify(probe)} met ${met}`;
}

const ATTEMPTS = 6;

export function isExpected(golden: GoldenCase, step: number, probe: GoldenProbe, result: Expected): boolean {
  const difference = differenceOf(golden.name, step, probe);
  const wanted = difference ? [difference.expect] : [expectedIn('iptables', probe), expectedIn('nftables', probe)];
  return wanted.some((each) => isSame(each, result));
}

function isSame(a: Expected, b: Expected): boolean {
  try {
    assert.deepEqual(a, b);
    return true;
  } catch {
    return false;
  }
}

/** Servers take turns, so a few attempts meet them all. */
function fewer<P extends PacketProbe>(probe: P): P {
  return { ...probe, count: Math.min(probe.count ?? 60, 8) };
}
