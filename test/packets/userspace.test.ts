// Userspace mode under strain, and what it leaves in the host's tables.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { golden as goldenTopology } from '../../src/lab/network/golden.ts';
import { type HostProcess, Network } from '../../src/lab/network/network.ts';
import { GOLDEN_NODES, type Manifest } from '../support/golden.ts';
import { hashOf } from './userspace-load.ts';
import { UserspaceNode } from './userspace-node.ts';

const LOAD = [
  process.execPath,
  '--disable-warning=ExperimentalWarning',
  fileURLToPath(new URL('./userspace-load.ts', import.meta.url)),
];
const GIGABYTE = 1 << 30;

describe('userspace mode', () => {
  let network: Network;
  let node: UserspaceNode;
  const running: HostProcess[] = [];
  before(async () => {
    network = await Network.open(goldenTopology);
    node = await UserspaceNode.start(network, { threads: 1 });
    await node.sync(GOLDEN_NODES);
  });
  after(async () => {
    for (const process of running) await process.kill('SIGKILL');
    await node.close();
    await network.close();
  });

  const start = async (host: string, ...args: string[]): Promise<HostProcess> => {
    const process = await network.spawnIn(host, [...LOAD, ...args]);
    running.push(process);
    await once(process.stdout, 'data');
    return process;
  };
  const run = async (host: string, ...args: string[]): Promise<unknown> => {
    const { stdout, stderr } = await network.exec(host, [...LOAD, ...args]);
    assert.equal(stderr, '');
    return JSON.parse(stdout);
  };

  test('5,000 connections are open at once, and every one is answered', { timeout: 60_000 }, async () => {
    await node.sync(service('many', '10.96.50.1', 8080, ['10.244.1.11', '10.244.2.11']));
    const client = await start('x', 'hold', '10.96.50.1', '80', '5000');
    while ((await node.inspect()).open !== 5000) await delay(50);
    const answered = once(client.stdout, 'data');
    await client.kill('SIGUSR2');
    const { shares } = JSON.parse(String((await answered)[0])) as { shares: { a1: number; b1: number } };
    assert.equal(shares.a1 + shares.b1, 5000);
    // On a busy machine a dial may take too long, and that client goes to the other one.
    assert.ok(Math.abs(shares.a1 - shares.b1) < 500, JSON.stringify(shares));
  });

  test('a gigabyte arrives as it was sent', async () => {
    await start('a1', 'source', '9000', String(GIGABYTE));
    await node.sync(service('large', '10.96.50.2', 9000, ['10.244.1.11']));
    assert.deepEqual(await run('x', 'fetch', '10.96.50.2', '80'), { bytes: GIGABYTE, hash: hashOf(GIGABYTE) });
  });

  test('fifty clients that do not read do not fill memory', async () => {
    const before = (await node.inspect()).memory!;
    const idle = await start('x', 'idle', '10.96.50.2', '80', '50');
    await delay(1500);
    const grown = (await node.inspect()).memory! - before;
    await idle.kill('SIGKILL');
    // Without back-pressure it would have grown by gigabytes.
    assert.ok(grown < 100 * 1024 * 1024, `memory grew by ${Math.round(grown / 1024 / 1024)} MB`);
  });

  test('an endpoint that has vanished is passed over while clients wait', async () => {
    await node.sync(service('half-dead', '10.96.50.3', 8080, ['10.244.1.99', '10.244.2.11']));
    const { shares: _, ...result } = await network.probe({ from: 'a1', proto: 'tcp', to: '10.96.50.3:80', count: 6 });
    assert.deepEqual(result, { answered: { 'b1:8080': ['node'] } });
  });

  test('the rules of a service with every kind of address are those of the manual', async () => {
    await node.sync(everyKind());
    const saved = (await network.exec('n1', ['iptables-save'])).stdout;
    const rules = saved.split('\n').filter((line) => line.includes('shop/web:http'));
    const port = Number(/--to-destination 192\.168\.50\.1:(\d+)/.exec(rules.join())?.[1]);
    const head = '-p tcp -m comment --comment "shop/web:http" -m tcp --dport';
    const to = `-j DNAT --to-destination 192.168.50.1:${port}`;
    assert.deepEqual(
      rules.sort(),
      [
        `-A KUBE-NODEPORT-CONTAINER ${head} 30480 ${to}`,
        `-A KUBE-NODEPORT-HOST ${head} 30480 ${to}`,
        `-A KUBE-NODEPORT-NON-LOCAL ${head} ${port} -m state --state NEW -j ACCEPT`,
        `-A KUBE-PORTALS-CONTAINER -d 10.96.7.40/32 ${head} 80 ${to}`,
        `-A KUBE-PORTALS-CONTAINER -d 198.51.100.60/32 ${head} 80 ${to}`,
        `-A KUBE-PORTALS-CONTAINER -d 203.0.113.25/32 ${head} 80 -m addrtype --dst-type LOCAL ${to}`,
        `-A KUBE-PORTALS-CONTAINER -d 203.0.113.25/32 ${head} 80 -m physdev ! --physdev-is-in ${to}`,
        `-A KUBE-PORTALS-HOST -d 10.96.7.40/32 ${head} 80 ${to}`,
        `-A KUBE-PORTALS-HOST -d 198.51.100.60/32 ${head} 80 ${to}`,
        `-A KUBE-PORTALS-HOST -d 203.0.113.25/32 ${head} 80 ${to}`,
      ].sort(),
    );
  });

  test('portals come first and node ports last among what others have there, however often it syncs', async () => {
    await network.exec('n1', ['sh', '-c', 'iptables -t nat -I PREROUTING 2 -s 198.51.100.1 -j ACCEPT']);
    await node.sync([]);
    const { stdout } = await network.exec('n1', ['iptables', '-t', 'nat', '-S', 'PREROUTING']);
    const targets = [...stdout.matchAll(/-j (\S+)/g)].map((match) => match[1]);
    assert.deepEqual(targets, ['KUBE-PORTALS-CONTAINER', 'ACCEPT', 'KUBE-NODEPORT-CONTAINER']);
  });

  test('a port that rules take is taken for the programs of the node, and two services cannot both have one', async () => {
    const listen = "require('node:net').createServer().on('error', (e) => console.log(e.code)).listen(30480)";
    const { stdout } = await network.exec('n1', [
      process.execPath,
      '-e',
      `${listen}; setTimeout(() => process.exit(), 100)`,
    ]);
    assert.equal(stdout.trim(), 'EADDRINUSE');
    await node.sync([...sharing('first', '10.96.50.4'), ...sharing('second', '10.96.50.5')]);
    const { problems } = await node.inspect();
    assert.deepEqual(problems, [
      'Port conflict detected on port 192.168.50.1:8099/TCP.  strain/second:p vs strain/first:p',
    ]);
    const { shares } = await network.probe({ from: 'x', proto: 'tcp', to: '192.168.50.1:8099', count: 4 });
    assert.deepEqual(shares, { 'a1:8080': 4 });
  });

  test('cleaning up leaves no chain and no jump, and what others have', async () => {
    await node.cleanUp();
    for (const program of ['iptables-save', 'ip6tables-save']) {
      const { stdout } = await network.exec('n1', [program]);
      assert.doesNotMatch(stdout, /KUBE-/);
    }
    assert.match((await network.exec('n1', ['iptables-save'])).stdout, /198\.51\.100\.1/);
  });
});

function service(name: string, clusterIP: string, targetPort: number, ips: readonly string[], spec = {}): Manifest[] {
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { namespace: 'strain', name },
      spec: { clusterIP, ports: [{ name: 'p', port: 80, protocol: 'TCP' }], ...spec },
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { namespace: 'strain', name, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      ports: [{ name: 'p', port: targetPort, protocol: 'TCP' }],
      endpoints: ips.map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
    },
  ];
}

/** Two of these want the same port of the node. */
function sharing(name: string, clusterIP: string): Manifest[] {
  const ports = [{ name: 'p', port: 8099, protocol: 'TCP' }];
  return service(name, clusterIP, 8080, [name === 'first' ? '10.244.1.11' : '10.244.2.11'], {
    ports,
    externalIPs: ['192.168.50.1'],
  });
}

function everyKind(): Manifest[] {
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { namespace: 'shop', name: 'web' },
      spec: {
        type: 'LoadBalancer',
        clusterIP: '10.96.7.40',
        externalIPs: ['203.0.113.25'],
        ports: [{ name: 'http', port: 80, protocol: 'TCP', nodePort: 30480 }],
      },
      status: { loadBalancer: { ingress: [{ ip: '198.51.100.60' }] } },
    },
  ];
}
