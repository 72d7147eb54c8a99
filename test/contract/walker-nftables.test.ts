// The walker over the rules that nftables mode plans: every recorded packet meets the fate recorded for that mode, and in every case
// of verification the rules do what the objects mean.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAMILIES, type Family, familyOf } from '../../src/lib/ip.ts';
import type { NftablesFacts } from '../../src/modes/nftables/facts.ts';
import { Walker } from '../../src/observe/trace/walk.ts';
import { verify } from '../../src/observe/verify/verify.ts';
import { TestCluster } from '../support/cluster.ts';
import {
  expectedIn,
  GOLDEN_BASE,
  GOLDEN_NODES,
  GOLDEN_SERVICE_CIDRS,
  type GoldenCase,
  goldenCases,
} from '../support/golden.ts';
import { nftablesFacts } from '../support/nftables-node.ts';
import { nftablesVerifyInput } from '../support/verify.ts';
import { goldenHost, packetOf, predicted } from '../support/walker.ts';

for (const golden of goldenCases()) {
  test(`${golden.name}: nftables mode means and does what was recorded`, () => {
    const cluster = new TestCluster().apply(...GOLDEN_NODES, ...GOLDEN_BASE, GOLDEN_SERVICE_CIDRS);
    for (const step of golden.steps) {
      cluster.delete(...(step.delete ?? [])).apply(...(step.apply ?? []));
      const inputs = Object.fromEntries(
        FAMILIES.map((family) => [family, nftablesVerifyInput(cluster.tracker, factsOf(golden, family), undefined)]),
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
        const was = expectedIn('nftables', probe);
        if (!golden.name.startsWith('affinity')) assert.deepEqual(said, was, JSON.stringify(probe));
        else
          for (const [endpoint, seen] of Object.entries(was.answered ?? {}))
            assert.deepEqual(said.answered?.[endpoint], seen, JSON.stringify(probe));
      }
    }
  });
}

function factsOf({ config }: GoldenCase, family: Family): NftablesFacts {
  const nodeNetwork = family === 'IPv4' ? '10.244.1.0/24' : 'fd00:10:244:1::/64';
  return {
    ...nftablesFacts(family),
    ...(config?.detectLocalMode === 'NodeCIDR' && { detector: { kind: 'source', cidr: nodeNetwork } }),
    ...(config && 'nftables' in config && { masqueradeAll: true }),
  };
}
