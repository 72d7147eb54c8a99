// Every recorded cluster through the pipeline in nftables mode into a real kernel: every packet meets the recorded fate. Steps are
// applied incrementally, as the agent does.
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { FAMILIES } from '../../src/lib/ip.ts';
import { GOLDEN_BASE, GOLDEN_NODES, goldenCases, type Manifest } from '../support/golden.ts';
import { askRecorded } from '../support/golden-packets.ts';
import { goldenNftablesFacts } from '../support/nftables-node.ts';
import { nftablesBed } from '../support/nftables-remote.ts';

const SERVICE_CIDR: Manifest = {
  kind: 'ServiceCIDR',
  metadata: { name: 'kubernetes' },
  spec: { cidrs: ['10.96.0.0/12', 'fd00:10:96::/112'] },
};

describe('recorded clusters, nftables', () => {
  const bed = nftablesBed();

  for (const golden of goldenCases()) {
    test(`${golden.name}: ${golden.about}`, async () => {
      const facts = Object.fromEntries(FAMILIES.map((family) => [family, goldenNftablesFacts(golden, family)]));
      await bed.remote.tell({ restarts: true, facts, apply: [...GOLDEN_NODES, ...GOLDEN_BASE, SERVICE_CIDR] });
      await bed.network.exec('n1', ['conntrack', '-F']);
      for (const step of golden.steps) {
        await bed.remote.tell({ delete: step.delete ?? [], apply: step.apply ?? [] });
        await delay((step.wait ?? 0) * 1000);
        await askRecorded(bed.network, step, 'nftables');
      }
    });
  }
});
