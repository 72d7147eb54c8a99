// The walker over what IPVS mode plans, rules, sets and virtual servers: every recorded packet meets the fate that is known of that mode, and
// in every case of verification they do what the objects mean.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { FAMILIES, familyOf } from '../../src/lib/ip.ts';
import { Walker } from '../../src/observe/trace/walk.ts';
import { verify } from '../../src/observe/verify/verify.ts';
import { TestCluster } from '../support/cluster.ts';
import { type Expected, expectedIn, GOLDEN_BASE, GOLDEN_NODES, goldenCases } from '../support/golden.ts';
import { ipvsVerifyInput } from '../support/verify.ts';
import { goldenHost, packetOf, predicted } from '../support/walker.ts';
import { facts } from '../vm/inside/bench.ts';
import { differenceOf } from '../vm/inside/differences.ts';

for (const golden of goldenCases()) {
  test(`${golden.name}: IPVS mode means and does what packets did`, () => {
    const cluster = new TestCluster().apply(...GOLDEN_NODES, ...GOLDEN_BASE);
    for (const [i, step] of golden.steps.entries()) {
      cluster.delete(...(step.delete ?? [])).apply(...(step.apply ?? []));
      const inputs = Object.fromEntries(
        FAMILIES.map((family) => [family, ipvsVerifyInput(cluster.tracker, facts(golden, family))]),
      );
      for (const family of FAMILIES) {
        const { mismatches, unjudged } = verify(inputs[family]!);
        assert.deepEqual({ mismatches, unjudged }, { mismatches: [], unjudged: [] });
      }
      for (const probe of step.probes ?? []) {
        if (!('proto' in probe)) continue;
        const packet = packetOf(probe);
        const family = familyOf(packet.dst);
        const { planned } = inputs[family]!;
        // A Service's address is the node's own, so what the node sends there comes from there.
        const isToItself = packet.isFromThisHost && planned.addresses!.has(packet.dst);
        const asked = isToItself ? { ...packet, src: packet.dst } : packet;
        const said = predicted(new Walker(planned).walk(asked, goldenHost(family)));
        const known = differenceOf(golden.name, i, probe);
        const recorded = known ? [known.expect] : MODES.map((mode) => expectedIn(mode, probe));
        assert.ok(
          recorded.some((was) =>
            golden.name.startsWith('affinity') ? contains(said, was) : isDeepStrictEqual(said, was),
          ),
          `${JSON.stringify(probe)}: said ${JSON.stringify(said)}`,
        );
      }
    }
  });
}

const MODES = ['iptables', 'nftables'] as const;

/** Which of the possible endpoints a client sticks to is up to the first draw. */
function contains(said: Expected, was: Expected): boolean {
  return Object.entries(was.answered ?? {}).every(([endpoint, seen]) =>
    isDeepStrictEqual(said.answered?.[endpoint], seen),
  );
}
