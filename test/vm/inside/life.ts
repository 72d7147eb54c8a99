// IPVS mode over time: who gets the next connection, what happens to open ones, what a restart repairs, what is sent.
import assert from 'node:assert/strict';
import net from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { connectSocket, openSocket } from '../../../src/lab/network/libc.ts';
import { Namespaces } from '../../../src/lab/network/namespace.ts';
import { SECOND } from '../../../src/lib/duration.ts';
import type { Family } from '../../../src/lib/ip.ts';
import { resolveNode } from '../../../src/model/resolve.ts';
import { boundAddresses, heldSets } from '../../../src/modes/ipvs/apply.ts';
import { diff } from '../../../src/modes/ipvs/diff.ts';
import { plan } from '../../../src/modes/ipvs/plan.ts';
import { prepareHost } from '../../../src/modes/ipvs/startup.ts';
import { TestCluster } from '../../support/cluster.ts';
import { GOLDEN_BASE, GOLDEN_NODES, type Manifest } from '../../support/golden.ts';
import { ANCHORS } from './anchors.ts';
import { type Bench, facts } from './bench.ts';
import { IDENTITY } from './node.ts';
import { RandomCluster } from './random-cluster.ts';

const IP = '10.96.77.1';
const TCP = { protocol: 'TCP', ip: IP, port: 80 } as const;
const DRAINED = { protocol: 'TCP', ip: '10.96.77.2', port: 80 } as const;
const UDP = { protocol: 'UDP', ip: IP, port: 53 } as const;
const POD = { a1: '10.244.1.11', a2: '10.244.1.12', b1: '10.244.2.11' } as const;

export function lifeTests(bench: () => Bench): void {
  const namespaces = new Namespaces();
  const open: net.Socket[] = [];
  after(() => {
    for (const socket of open) socket.destroy();
  });
  const ask = async (count: number, ip = IP) =>
    (await bench().world.probePackets({ from: 'x', proto: 'tcp', to: `${ip}:80`, count })).shares;
  const set = async (...pods: (keyof typeof POD)[]): Promise<void> => {
    bench().cluster.apply(...service(pods.map((pod) => POD[pod])));
    await bench().node.sync();
  };
  /** A connection from outside that stays open, once the backend has it. */
  const connect = async (ip = IP): Promise<net.Socket> => {
    const fd = namespaces.enter('x', () => openSocket('tcp', 'IPv4'));
    connectSocket(fd, ip, 80);
    const socket = new net.Socket({ fd, readable: true, writable: true, allowHalfOpen: true });
    open.push(socket);
    await until(
      async () => (await connections()) === open.filter(({ destroyed }) => !destroyed).length,
      'it is connected',
    );
    return socket;
  };
  const connections = async (): Promise<number> => {
    const backends = await Promise.all([TCP, DRAINED].map((server) => bench().host.ipvs.backends(server)));
    return backends.flat().reduce((sum, { activeConnections }) => sum + activeConnections, 0);
  };

  test('with rr, real servers take exact turns', async () => {
    bench().node.facts = (family) => facts({}, family);
    await set('a1', 'b1');
    assert.deepEqual(await ask(8), { 'a1:8080': 4, 'b1:8080': 4 });
  });

  test('a sync without changes sends nothing', async () => {
    for (const { change } of await bench().node.sync()) assert.deepEqual(change.steps, []);
  });

  test('a change of one service sends only that', async () => {
    bench().cluster.apply(...service([POD.a1, POD.b1, POD.a2]));
    const [report] = await bench().node.sync();
    const kinds = report!.change.steps.map(({ kind }) => kind);
    assert.deepEqual(kinds, ['add-backend', 'add-backend', 'add-entry', 'add-entry']);
  });

  test('an endpoint that goes while clients are connected drains: open connections live, new ones avoid it', async () => {
    const { host, node } = bench();
    const { cluster } = bench();
    const setDrained = async (ip: string): Promise<void> => {
      cluster.apply(...service([ip], 'drained', DRAINED.ip));
      await node.sync();
    };
    await setDrained(POD.a1);
    const socket = await connect(DRAINED.ip);
    await setDrained(POD.b1);
    const weights = Object.fromEntries((await host.ipvs.backends(DRAINED)).map(({ ip, weight }) => [ip, weight]));
    assert.deepEqual(weights, { [POD.a1]: 0, [POD.b1]: 1 });
    assert.deepEqual(await ask(4, DRAINED.ip), { 'b1:8080': 4 });
    assert.equal(await askOver(socket), 'a1');
    const { drain } = node.families[0]!.drivers;
    await until(async () => {
      await drain.check();
      return (await host.ipvs.backends(DRAINED)).length === 1;
    }, 'the drained server is gone');
    assert.deepEqual(drain.draining, []);
    cluster.delete(...service([], 'drained', DRAINED.ip));
  });

  test('an endpoint that comes back while it drains is used again, and its connections never noticed', async () => {
    const { host, node } = bench();
    await set('a1');
    const socket = await connect();
    await set('b1');
    await set('a1', 'b1');
    assert.deepEqual(node.families[0]!.drivers.drain.draining, []);
    assert.ok((await host.ipvs.backends(TCP)).every(({ weight }) => weight === 1));
    assert.equal(await askOver(socket), 'a1');
  });

  test('a UDP endpoint goes at once', async () => {
    await set('a1', 'b1');
    await bench().world.probePackets({ from: 'x', proto: 'udp', to: `${IP}:53`, count: 4 });
    await set('b1');
    assert.deepEqual(
      (await bench().host.ipvs.backends(UDP)).map(({ ip }) => ip),
      [POD.b1],
    );
  });

  test('with lc, the server with fewer open connections gets the next', async () => {
    const { node } = bench();
    node.facts = (family) => ({ ...facts({}, family), scheduler: 'lc' });
    await set('a1');
    for (let i = 0; i < 4; i++) await connect();
    await set('a1', 'b1');
    assert.deepEqual(await ask(4), { 'b1:8080': 4 });
    for (const socket of open) socket.destroy();
  });

  test('schedulers are known by asking the kernel, which keeps no trace of the question', async () => {
    const { ipvs } = bench().host;
    assert.equal(await ipvs.hasScheduler('wrr'), true);
    assert.equal(await ipvs.hasScheduler('no-such'), false);
    assert.equal(await ipvs.hasScheduler('a-name-too-long-for-one'), false);
    assert.equal(
      (await ipvs.servers()).some(({ ip }) => ip === '198.51.100.0'),
      false,
    );
  });

  test('timeouts are set, and zero leaves one as it is', async () => {
    const { ipvs } = bench().host;
    const before = await ipvs.timeouts();
    await ipvs.send([ipvs.requests.setTimeouts({ tcp: 600, tcpFin: 0, udp: 60 })]);
    assert.deepEqual(await ipvs.timeouts(), { tcp: 600, tcpFin: before.tcpFin, udp: 60 });
  });

  test('a host is made ready, or the reason why not is told', async () => {
    const { host } = bench();
    const { ipvs, sets } = host;
    const drivers = { ipvs, sets };
    const wanted = {
      scheduler: 'wlc',
      excludeCIDRs: [],
      strictARP: true,
      tcpTimeout: 0n,
      tcpFinTimeout: 45n * SECOND,
      udpTimeout: 0n,
    };
    await prepareHost(drivers, wanted);
    host.tune(wanted.strictARP);
    assert.equal((await ipvs.timeouts()).tcpFin, 45);
    assert.equal((await host.run('sysctl', '-n', 'net.ipv4.conf.all.arp_announce')).trim(), '2');
    await assert.rejects(
      prepareHost(drivers, { ...wanted, scheduler: 'no-such' }),
      /can't use the IPVS proxier: the kernel has no scheduler "no-such"/,
    );
    for (const path of ['arp_ignore', 'arp_announce']) host.setSysctl(`net/ipv4/conf/all/${path}`, '0');
  });

  test('after a restart, what foreign hands changed is right again, and what is theirs is left alone', async () => {
    const { host, node } = bench();
    await set('a1', 'b1');
    await host.run('sh', '-c', FOREIGN_HANDS);
    node.distrust();
    await node.sync();
    const backends = (await host.ipvs.backends(TCP)).map(({ ip, weight }) => `${ip} ${weight}`).sort();
    assert.deepEqual(backends, [`${POD.a1} 1`, `${POD.b1} 1`]);
    const servers = (await host.ipvs.servers()).map(({ ip }) => ip);
    assert.equal(servers.includes('10.96.99.9'), false, 'an address of kube-ipvs0 is ours');
    assert.equal(servers.includes('198.18.0.5'), true, 'a server that no set of ours names is not');
    assert.match(await host.run('iptables', '-t', 'nat', '-S', 'PREROUTING'), /-j KUBE-SERVICES/);
    for (const { change } of await node.sync()) assert.deepEqual(change.steps, []);
  });

  test('after any sequence of changes the kernel holds what a fresh plan wants', async () => {
    const { cluster, node } = bench();
    node.facts = (family) => facts({}, family);
    const random = new RandomCluster(20_260_101);
    await set('a1', 'b1');
    const always = [...GOLDEN_NODES, ...GOLDEN_BASE, ...ANCHORS, ...service([POD.a1, POD.b1])];
    for (let round = 0; round < 25; round++) {
      const { apply, gone } = random.step();
      cluster.delete(...gone).apply(...apply);
      await node.sync();
      for (const family of ['IPv4', 'IPv6'] as const)
        assert.deepEqual(await missingSteps(bench(), family, [...always, ...random.all()]), [], `round ${round}`);
    }
    cluster.delete(...random.all(), ...service([]));
    await node.sync();
  });
}

// A weight, an unknown real server, an unknown virtual server of ours and one of theirs, and a jump that is gone.
const FOREIGN_HANDS = `
ipvsadm -e -t ${IP}:80 -r ${POD.a1}:8080 -m -w 7
ipvsadm -a -t ${IP}:80 -r 10.244.9.9:8080 -m
ip addr add 10.96.99.9/32 dev kube-ipvs0
ipvsadm -A -t 10.96.99.9:80 -s rr
ipvsadm -A -t 198.18.0.5:80 -s wlc
iptables -t nat -D PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES`;

/** What a diff against the kernel itself would still do. Rules are left out: they are written whole or not at all. */
async function missingSteps({ host }: Bench, family: Family, objects: readonly Manifest[]): Promise<unknown[]> {
  const servers = (await host.ipvs.servers()).filter(({ ip }) => ip.includes(':') === (family === 'IPv6'));
  const held = {
    kind: 'read',
    servers: await Promise.all(servers.map(async (server) => ({ server, backends: await host.ipvs.backends(server) }))),
    sets: await heldSets(host.sets, family),
    addresses: await boundAddresses(host.links, family),
    chains: { nat: new Set<string>(), filter: new Set<string>() },
    referenced: { nat: new Set<string>(), filter: new Set<string>() },
    jumps: new Set<number>(),
  } as const;
  const fresh = new TestCluster().apply(...objects);
  const wanted = plan(resolveNode(fresh.tracker.take(family), IDENTITY), facts({}, family));
  return diff(held, wanted).steps.filter(({ kind }) => kind !== 'prepare' && kind !== 'restore');
}

function service(ips: readonly string[], name = 'web', clusterIP: string = IP): readonly Manifest[] {
  const metadata = { namespace: 'life', name };
  const ports = [
    { name: 'http', port: 80, protocol: 'TCP' },
    { name: 'dns', port: 53, protocol: 'UDP' },
  ];
  return [
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { clusterIP, ports } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      ports: ports.map((port) => ({ ...port, port: 8080 })),
      endpoints: ips.map((ip) => ({
        addresses: [ip],
        conditions: { ready: true },
        nodeName: ip.startsWith('10.244.1.') ? 'n1' : 'n2',
      })),
    },
  ];
}

/** Who answers over a connection. It is then reset: IPVS remembers one that ended in order for two minutes. */
async function askOver(socket: net.Socket): Promise<string> {
  socket.write('who?\n');
  let text = '';
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) text += chunk;
  socket.resetAndDestroy();
  return (JSON.parse(text) as { name: string }).name;
}

async function until(isTrue: () => Promise<boolean>, what: string): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    if (await isTrue()) return;
    await delay(200);
  }
  throw new Error(`never: ${what}`);
}
