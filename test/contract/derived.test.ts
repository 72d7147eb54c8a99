// Clusters that nobody recorded: every packet, walked through the rules that each mode plans, meets the fate that was derived for it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAMILIES, type Family, familyOf } from '../../src/lib/ip.ts';
import type { NodeModel } from '../../src/model/model.ts';
import { resolveNode } from '../../src/model/resolve.ts';
import { iptablesMode } from '../../src/modes/iptables/iptables.ts';
import { nftablesMode } from '../../src/modes/nftables/nftables.ts';
import { parseIptablesSave } from '../../src/observe/trace/iptables-save.ts';
import { parseNftList } from '../../src/observe/trace/nft-list.ts';
import type { Ruleset } from '../../src/observe/trace/ruleset.ts';
import { Walker } from '../../src/observe/trace/walk.ts';
import { TestCluster } from '../support/cluster.ts';
import { derivedCases, iptablesFactsOf, nftablesFactsOf } from '../support/derived.ts';
import { expectedIn, GOLDEN_BASE, GOLDEN_NODES, GOLDEN_SERVICE_CIDRS, type GoldenCase } from '../support/golden.ts';
import { N1 } from '../support/verify.ts';
import { goldenHost, packetOf, predicted } from '../support/walker.ts';

type Planner = (model: NodeModel) => Ruleset;

const MODES: Readonly<Record<'iptables' | 'nftables', (derived: GoldenCase) => Planner>> = {
  iptables: (derived) => {
    const facts = iptablesFactsOf(derived);
    return (model) =>
      parseIptablesSave(iptablesMode.print(iptablesMode.plan(model, facts[model.family])), model.family);
  },
  nftables: (derived) => {
    const facts = nftablesFactsOf(derived);
    return (model) => parseNftList(nftablesMode.print(nftablesMode.plan(model, facts[model.family])), model.family);
  },
};

for (const derived of derivedCases()) {
  for (const mode of ['iptables', 'nftables'] as const) {
    test(`${derived.name}, ${mode}: ${derived.about}`, () => {
      const planned = MODES[mode](derived);
      const cluster = new TestCluster().apply(...GOLDEN_NODES, ...GOLDEN_BASE, GOLDEN_SERVICE_CIDRS);
      for (const [i, step] of derived.steps.entries()) {
        cluster.apply(...(step.apply ?? []));
        const walkers = new Map<Family, Walker>(
          FAMILIES.map((family) => [family, new Walker(planned(resolveNode(cluster.tracker.take(family), N1)))]),
        );
        for (const probe of step.probes ?? []) {
          assert.ok('proto' in probe);
          const packet = packetOf(probe);
          const family = familyOf(packet.dst);
          const said = predicted(walkers.get(family)!.walk(packet, goldenHost(family)));
          assert.deepEqual(said, expectedIn(mode, probe), `step ${i + 1}: ${JSON.stringify(probe)}`);
        }
      }
    });
  }
}
