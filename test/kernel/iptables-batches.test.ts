// A full write in batches leaves the kernel as one at once does, on an empty host and over rules of before.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { golden as goldenTopology } from '../../src/lab/network/golden.ts';
import { Network } from '../../src/lab/network/network.ts';
import { sync } from '../../src/pipeline.ts';
import { TestCluster } from '../support/cluster.ts';
import { GOLDEN_NODES, type Manifest, normalisedRules } from '../support/golden.ts';
import { iptablesNode } from '../support/iptables-node.ts';

function services(count: number, endpoints: (i: number) => number): readonly Manifest[] {
  return Array.from({ length: count }, (_, i) => [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { namespace: 'many', name: `s${i}` },
      spec: { type: 'NodePort', clusterIP: `10.96.1.${i}`, ports: [{ name: 'http', port: 80, nodePort: 30000 + i }] },
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { namespace: 'many', name: `s${i}-1`, labels: { 'kubernetes.io/service-name': `s${i}` } },
      addressType: 'IPv4',
      endpoints: Array.from({ length: endpoints(i) }, (_unused, k) => ({ addresses: [`10.244.${k}.${i}`] })),
      ports: [{ name: 'http', port: 8080 }],
    },
  ]).flat();
}

for (const variant of ['nft', 'legacy'] as const) {
  test(`batches and one text lead to the same rules, iptables-${variant}`, async () => {
    const network = await Network.open({ hosts: goldenTopology.hosts.filter(({ name }) => name === 'n1'), links: [] });
    try {
      const before = new TestCluster().apply(...GOLDEN_NODES, ...services(30, (i) => i % 4));
      const after = new TestCluster().apply(...GOLDEN_NODES, ...services(25, (i) => (i + 1) % 4));
      const rulesOf = async (cluster: TestCluster, servicesPerBatch: number | undefined): Promise<string> => {
        const node = iptablesNode(network, cluster.tracker, 'IPv4', { variant, facts: { servicesPerBatch } });
        const { change } = await sync(node);
        assert.equal(Array.isArray(change.ahead), servicesPerBatch === undefined);
        return normalisedRules(await node.drivers.save());
      };
      const flush = async (): Promise<void> => {
        for (const table of ['nat', 'filter', 'mangle']) {
          for (const action of ['-F', '-X'])
            await network.exec('n1', [`iptables-${variant}`, '-w', '-t', table, action]);
        }
      };
      const wantedBefore = await rulesOf(before, undefined);
      const wantedAfter = await rulesOf(
        new TestCluster().apply(...GOLDEN_NODES, ...services(25, (i) => (i + 1) % 4)),
        undefined,
      );
      await flush();
      assert.equal(
        await rulesOf(new TestCluster().apply(...GOLDEN_NODES, ...services(30, (i) => i % 4)), 4),
        wantedBefore,
      );
      assert.equal(await rulesOf(after, 7), wantedAfter, 'over rules of before, stale chains included');

      const node = iptablesNode(network, after.tracker, 'IPv4', { variant, facts: { servicesPerBatch: 7 } });
      await sync(node);
      after.delete(...services(25, () => 0)).apply(...services(30, (i) => i % 4));
      const { change, wasFull } = await sync(node);
      assert.deepEqual([wasFull, [...change.ahead].length], [false, 5]);
      assert.equal(normalisedRules(await node.drivers.save()), wantedBefore, 'many changes at once');
    } finally {
      await network.close();
    }
  });
}
