// In nftables mode the kernel counts connections by Service and endpoint, and /metrics tells.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../src/lab/apiserver/object.ts';
import { startApiServer } from '../../src/lab/apiserver/server.ts';
import { golden as goldenTopology } from '../../src/lab/network/golden.ts';
import { Network } from '../../src/lab/network/network.ts';
import { TestAgent } from '../support/agent.ts';
import { GOLDEN_BASE, GOLDEN_NODES, goldenCases } from '../support/golden.ts';
import { metricValue } from '../support/metrics.ts';

test('connections are counted for each Service address and each endpoint, and the sums agree with who answered', async () => {
  const network = await Network.open(goldenTopology);
  const server = await startApiServer({ serviceCIDRs: ['10.96.0.0/12', 'fd00:10:96::/112'] });
  const dualStack = goldenCases().find(({ name }) => name === 'dual-stack')!;
  server.seed([...GOLDEN_NODES, ...GOLDEN_BASE, ...dualStack.steps[0]!.apply!] as KubeObject[]);
  const agent = await TestAgent.start(network, server, {
    config: { mode: 'nftables', portolan: { serviceMetrics: true } },
  });
  try {
    await agent.settled();
    const ipv4 = await network.probe({ from: 'a2', proto: 'tcp', to: '10.96.10.28:80', count: 40 });
    await network.probe({ from: 'x', proto: 'tcp', to: '192.168.50.1:30080', count: 10 });
    await network.probe({ from: 'a1', proto: 'tcp', to: '[fd00:10:96::28]:80', count: 7 });

    const page = await network.probe({ from: 'n1', http: '127.0.0.1:10249/metrics' });
    assert.ok('body' in page);
    const value = (name: string, labels: Record<string, string>): number =>
      metricValue(String(page.body), name, labels);
    const web = { namespace: 'demo', service: 'web', port: 'http', protocol: 'TCP' };
    assert.equal(
      value('portolan_service_connections_total', { ...web, frontend: '10.96.10.28:80', ip_family: 'IPv4' }),
      40,
    );
    assert.equal(value('portolan_service_connections_total', { ...web, frontend: ':30080', ip_family: 'IPv4' }), 10);
    assert.equal(
      value('portolan_service_connections_total', { ...web, frontend: '[fd00:10:96::28]:80', ip_family: 'IPv6' }),
      7,
    );
    assert.equal(value('portolan_service_first_packet_bytes_total', { ...web, frontend: '10.96.10.28:80' }), 40 * 60);
    for (const [pod, endpoint] of [
      ['a1:8080', '10.244.1.11:8080'],
      ['b1:8080', '10.244.2.11:8080'],
    ] as const) {
      assert.equal(
        value('portolan_endpoint_connections_total', { ...web, frontend: '10.96.10.28:80', endpoint }),
        ipv4.shares[pod],
      );
    }
    assert.equal(value('portolan_endpoint_connections_total', { ...web, endpoint: '[fd00:10:244:1::12]:8080' }), 7);
    assert.equal(value('portolan_service_metrics_omitted', { ip_family: 'IPv4' }), 0);
  } finally {
    await agent.stop();
    await server.close();
    await network.close();
  }
});
