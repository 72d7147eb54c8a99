// A userspace agent tells what it does: its log, the page of its connections, and metrics of each Service and endpoint.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { KubeObject } from '../../src/lab/apiserver/object.ts';
import { type ApiServer, startApiServer } from '../../src/lab/apiserver/server.ts';
import { golden as goldenTopology } from '../../src/lab/network/golden.ts';
import { Network } from '../../src/lab/network/network.ts';
import type { RelayedConnections } from '../../src/modes/userspace/relay-host.ts';
import { TestAgent, until } from '../support/agent.ts';
import { GOLDEN_BASE, GOLDEN_NODES } from '../support/golden.ts';
import { serviceManifest, sliceManifest } from '../support/manifests.ts';
import { metricValue } from '../support/metrics.ts';

const RELAY_PORTS = { first: 41_000, last: 41_099 };

describe('a userspace agent', () => {
  let network: Network;
  let server: ApiServer;
  let agent: TestAgent;
  before(async () => {
    network = await Network.open(goldenTopology);
    server = await startApiServer({ serviceCIDRs: ['10.96.0.0/12', 'fd00:10:96::/112'] });
    server.seed([...GOLDEN_NODES, ...GOLDEN_BASE, ...OBJECTS] as KubeObject[]);
    agent = await TestAgent.start(network, server, {
      config: {
        mode: 'userspace',
        featureGates: { PortolanUserspaceMode: true },
        portRange: `${RELAY_PORTS.first}-${RELAY_PORTS.last}`,
        iptables: { minSyncPeriod: '100ms', syncPeriod: '1s' },
      },
      args: ['-v', '4'],
    });
    await agent.said(/"Synced" ipFamily="IPv4"/, 0, 60_000);
    await agent.said(/"Synced" ipFamily="IPv6"/, 0, 60_000);
  });
  after(async () => {
    await agent.stop();
    await server.close();
    await network.close();
  });

  const bodyOf = async (path: string): Promise<unknown> => {
    const answer = await network.probe({ from: 'n1', http: `127.0.0.1:10249/${path}` });
    assert.ok('body' in answer);
    return answer.body;
  };
  const page = async (path: string): Promise<string> => String(await bodyOf(path));
  const connections = async (): Promise<RelayedConnections> =>
    (await bodyOf('connections?format=json')) as RelayedConnections;

  test('says what it leaves out, and is healthy', async () => {
    assert.match(agent.log, /"SCTP is not supported for user space proxy" service="demo\/web:signal"/);
    const health = await network.probe({ from: 'n1', http: '127.0.0.1:10256/healthz' });
    assert.equal('status' in health && health.status, 200);
  });

  test('listens on ports of the range that it was given', async () => {
    const { stdout } = await network.exec('n1', ['iptables-save', '-t', 'nat']);
    const ports = [...stdout.matchAll(/--to-destination 192\.168\.50\.1:(\d+)/g)].map(([, port]) => Number(port));
    assert.ok(ports.length > 0);
    for (const port of ports) assert.ok(port >= RELAY_PORTS.first && port <= RELAY_PORTS.last, String(port));
  });

  test('shows a connection while it is open and after it has ended, and logs it', async () => {
    // The pod answers and ends its side; the client keeps its own.
    const hold =
      "require('net').connect({ host: '10.96.10.50', port: 80, allowHalfOpen: true }).resume().write('who'); setInterval(() => {}, 1000)";
    const client = await network.spawnIn('a2', [process.execPath, '-e', hold]);
    await until(
      async () => (await connections()).open[0]?.bytesToBackend === 3,
      60_000,
      () => 'nothing is open',
    );
    const { open } = await connections();
    assert.deepEqual(
      open.map(({ service, protocol, backend, bytesToBackend }) => ({ service, protocol, backend, bytesToBackend })),
      [{ service: 'demo/web:http', protocol: 'TCP', backend: '10.244.2.11:8080', bytesToBackend: 3 }],
    );
    assert.match(open[0]!.client, /^10\.244\.1\.12:\d+$/);
    assert.match(
      await page('connections'),
      /^demo\/web:http +TCP +10\.244\.1\.12:\d+ +10\.244\.2\.11:8080 +3 +\d+ +for \d+s$/m,
    );
    await client.kill('SIGKILL');
    await until(
      async () => (await connections()).open.length === 0,
      60_000,
      () => 'it stays open',
    );
    assert.match(await page('connections'), /^demo\/web:http .* (?:closed|reset-by-client) \d+s ago$/m);
    await agent.said(/"Relayed a connection" relay="demo\/web:http\/TCP cluster" service="demo\/web:http"/);
  });

  test('counts connections and bytes of each Service and endpoint', async () => {
    const before = await page('metrics');
    const cluster = await network.probe({ from: 'x', proto: 'tcp', to: '10.96.10.51:80', count: 10 });
    const nodePort = await network.probe({ from: 'x', proto: 'tcp', to: '192.168.50.1:30051', count: 4 });
    const two = { namespace: 'demo', service: 'two', port: 'http', protocol: 'TCP', frontend: '*', ip_family: 'IPv4' };
    await until(
      async () => (await connections()).open.length === 0,
      60_000,
      () => 'probes stay open',
    );
    const after = await page('metrics');
    const grown = (name: string, labels: Record<string, string>): number =>
      metricValue(after, name, labels) - metricValue(before, name, labels);
    assert.equal(grown('portolan_service_connections_total', two), 14);
    for (const [pod, endpoint] of [
      ['a1:8080', '10.244.1.11:8080'],
      ['b1:8080', '10.244.2.11:8080'],
    ] as const) {
      const answered = (cluster.shares[pod] ?? 0) + (nodePort.shares[pod] ?? 0);
      assert.equal(grown('portolan_endpoint_connections_total', { ...two, endpoint }), answered);
    }
    for (const direction of ['to_endpoint', 'to_client']) {
      const sum = grown('portolan_service_bytes_total', { ...two, direction });
      const parts = ['10.244.1.11:8080', '10.244.2.11:8080'].map((endpoint) =>
        grown('portolan_endpoint_bytes_total', { ...two, direction, endpoint }),
      );
      assert.ok(sum > 0);
      assert.equal(parts[0]! + parts[1]!, sum);
    }
    assert.doesNotMatch(after, /^kubeproxy_|first_packet/m);
  });

  test('mends a jump and a rule that somebody took away', async () => {
    for (const command of ['-D OUTPUT 1', '-F KUBE-PORTALS-CONTAINER']) {
      const before = agent.log.length;
      await network.exec('n1', ['sh', '-c', `iptables -t nat ${command}`]);
      await agent.said(/Rules were changed by somebody else/, before);
      await agent.said(/"Synced" ipFamily="IPv4"/, before);
    }
    const { shares } = await network.probe({ from: 'n1', proto: 'tcp', to: '10.96.10.50:80', count: 2 });
    assert.deepEqual(shares, { 'b1:8080': 2 });
  });
});

const OBJECTS = [
  serviceManifest('demo/web', {
    clusterIP: '10.96.10.50',
    ports: [
      { name: 'http', port: 80, protocol: 'TCP' },
      { name: 'signal', port: 132, protocol: 'SCTP' },
    ],
  }),
  sliceManifest('demo/web', [{ addresses: ['10.244.2.11'], nodeName: 'n2' }]),
  serviceManifest('demo/two', {
    type: 'NodePort',
    clusterIP: '10.96.10.51',
    ports: [{ name: 'http', port: 80, protocol: 'TCP', nodePort: 30051 }],
  }),
  sliceManifest('demo/two', [
    { addresses: ['10.244.1.11'], nodeName: 'n1' },
    { addresses: ['10.244.2.11'], nodeName: 'n2' },
  ]),
];
