// The walker over what userspace mode plans, rules and relays: every recorded packet meets the fate that is known of that mode, and in every
// case of verification they do what the objects mean.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAMILIES, type Family, familyOf } from '../../src/lib/ip.ts';
import type { UserspaceFacts } from '../../src/modes/userspace/facts.ts';
import { Walker } from '../../src/observe/trace/walk.ts';
import { verify } from '../../src/observe/verify/verify.ts';
import { throughRelays } from '../packets/userspace-differences.ts';
import { TestCluster } from '../support/cluster.ts';
import { expectedIn, GOLDEN_BASE, GOLDEN_NODES, type GoldenCase, goldenCases } from '../support/golden.ts';
import { userspaceFacts, userspaceVerifyInput } from '../support/verify.ts';
import { goldenHost, packetOf, predicted } from '../support/walker.ts';

for (const golden of goldenCases()) {
  test(`${golden.name}: userspace mode means and does what packets did`, () => {
    const cluster = new TestCluster().apply(...GOLDEN_NODES, ...GOLDEN_BASE);
    for (const [i, step] of golden.steps.entries()) {
      cluster.delete(...(step.delete ?? [])).apply(...(step.apply ?? []));
      const inputs = Object.fromEntries(
        FAMILIES.map((family) => [family, userspaceVerifyInput(cluster.tracker, factsOf(golden, family))]),
      );
      for (const family of FAMILIES) {
        const { mismatches, unjudged } = verify(inputs[family]!);
        assert.deepEqual({ mismatches, unjudged }, { mismatches: [], unjudged: [] });
      }
      for (const probe of step.probes ?? []) {
        if (!('proto' in probe)) continue;
        const packet = packetOf(probe);
        const family = familyOf(packet.dst);
        const said = predicted(new Walker(inputs[family]!.planned).walk(packet, goldenHost(family)));
        const was = throughRelays(golden.name, i, probe, expectedIn('iptables', probe)).expect;
        if (!golden.name.startsWith('affinity')) assert.deepEqual(said, was, JSON.stringify(probe));
        else
          for (const [endpoint, seen] of Object.entries(was.answered ?? {}))
            assert.deepEqual(said.answered?.[endpoint], seen, JSON.stringify(probe));
      }
    }
  });
}

function factsOf({ config }: GoldenCase, family: Family): UserspaceFacts {
  const nodeNetwork = family === 'IPv4' ? '10.244.1.0/24' : 'fd00:10:244:1::/64';
  return {
    ...userspaceFacts(family),
    ...(config?.detectLocalMode === 'NodeCIDR' && { detector: { kind: 'source', cidr: nodeNetwork } }),
  };
}
