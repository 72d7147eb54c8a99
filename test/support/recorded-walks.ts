// Recorded clusters, step by step, over what a mode plans for them: in every case of verification the plan does what the objects
// mean, and every packet that was sent then meets a fate that is known of the mode.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { FAMILIES, type Family, familyOf } from '../../src/lib/ip.ts';
import type { Packet } from '../../src/observe/trace/packet.ts';
import type { Ruleset } from '../../src/observe/trace/ruleset.ts';
import { Walker } from '../../src/observe/trace/walk.ts';
import { type VerifyInput, verify } from '../../src/observe/verify/verify.ts';
import type { Tracker } from '../../src/track/tracker.ts';
import { TestCluster } from './cluster.ts';
import {
  type Expected,
  GOLDEN_BASE,
  GOLDEN_NODES,
  type GoldenCase,
  type GoldenProbe,
  goldenCases,
  type Manifest,
} from './golden.ts';
import { goldenHost, packetOf, predicted } from './walker.ts';

export interface WalkedMode {
  readonly name: string;
  /** What is in every cluster beside what was recorded. */
  readonly base?: readonly Manifest[];
  readonly input: (tracker: Tracker, golden: GoldenCase, family: Family) => VerifyInput;
  /** The packet as this mode's node sends it. */
  readonly asked?: (packet: Packet, planned: Ruleset) => Packet;
  /** One of these must be met. */
  readonly fates: (golden: GoldenCase, step: number, probe: GoldenProbe) => readonly Expected[];
}

export function testRecordedWalks({ name, base = [], input, asked = (packet) => packet, fates }: WalkedMode): void {
  for (const golden of goldenCases()) {
    test(`${golden.name}: ${name} mode means and does what packets did`, () => {
      const cluster = new TestCluster().apply(...GOLDEN_NODES, ...GOLDEN_BASE, ...base);
      for (const [i, step] of golden.steps.entries()) {
        cluster.delete(...(step.delete ?? [])).apply(...(step.apply ?? []));
        const inputs = new Map(FAMILIES.map((family) => [family, input(cluster.tracker, golden, family)]));
        for (const one of inputs.values()) {
          const { mismatches, unjudged } = verify(one);
          assert.deepEqual({ mismatches, unjudged }, { mismatches: [], unjudged: [] });
        }
        for (const probe of step.probes ?? []) {
          if (!('proto' in probe)) continue;
          const packet = packetOf(probe);
          const family = familyOf(packet.dst);
          const { planned } = inputs.get(family)!;
          const said = predicted(new Walker(planned).walk(asked(packet, planned), goldenHost(family)));
          const isMet = golden.name.startsWith('affinity') ? contains : isDeepStrictEqual;
          assert.ok(
            fates(golden, i, probe).some((was) => isMet(said, was)),
            `${JSON.stringify(probe)}: said ${JSON.stringify(said)}`,
          );
        }
      }
    });
  }
}

/** Which of the possible endpoints a client sticks to is up to the first draw. */
function contains(said: Expected, was: Expected): boolean {
  return Object.entries(was.answered ?? {}).every(([endpoint, seen]) =>
    isDeepStrictEqual(said.answered?.[endpoint], seen),
  );
}
