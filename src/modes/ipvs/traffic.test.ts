import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestCluster } from '../../../test/support/cluster.ts';
import { serviceManifest, sliceManifest } from '../../../test/support/manifests.ts';
import { resolveNode } from '../../model/resolve.ts';
import { readTraffic } from './traffic.ts';

const IDENTITY = { nodeName: 'n1', nodeIPs: { IPv4: '192.0.2.1', IPv6: '::1' }, allowsExternalIPs: true };

function traffic(connections: number) {
  return { connections, bytesIn: 100 * connections, bytesOut: 1000 * connections };
}

test('a node port is one address, however many virtual servers it has; what is not ours is not told', async () => {
  const { tracker } = new TestCluster().apply(
    serviceManifest('shop/web', {
      type: 'NodePort',
      clusterIP: '10.96.7.40',
      ports: [{ name: 'http', port: 80, nodePort: 30080 }],
    }),
    sliceManifest('shop/web', [{ addresses: ['10.244.1.5'], nodeName: 'n1' }]),
  );
  const ipvs = {
    serverTraffic: async () => [
      { protocol: 'TCP' as const, ip: '10.96.7.40', port: 80, ...traffic(1) },
      { protocol: 'TCP' as const, ip: '192.0.2.1', port: 30080, ...traffic(2) },
      { protocol: 'TCP' as const, ip: '10.0.0.1', port: 30080, ...traffic(3) },
      { protocol: 'TCP' as const, ip: '198.51.100.9', port: 443, ...traffic(50) },
    ],
    backendTraffic: async ({ port }: { port: number }) => [
      { ip: '10.244.1.5', port: 8080, weight: 1, ...traffic(port === 80 ? 1 : 2) },
    ],
  };
  const facts = { nodePortAddresses: ['192.0.2.1', '10.0.0.1'] };
  const read = await readTraffic(ipvs, resolveNode(tracker.take('IPv4'), IDENTITY), facts);
  assert.deepEqual(
    read.map(({ port, ...rest }) => ({ name: port.displayName, ...rest })),
    [
      {
        name: 'shop/web:http',
        address: '10.96.7.40:80',
        endpoints: new Map([['10.244.1.5:8080', traffic(1)]]),
        ...traffic(1),
      },
      {
        name: 'shop/web:http',
        address: ':30080',
        endpoints: new Map([['10.244.1.5:8080', traffic(4)]]),
        ...traffic(5),
      },
    ],
  );
});
