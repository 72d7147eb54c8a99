// nftables mode while it is used: restarts, take-over of another program's table, and endless change, with clients that
// open connections all the time. No connection to a healthy endpoint may fail.
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { FAMILIES } from '../../src/lib/ip.ts';
import { GOLDEN_NODES, type Manifest } from '../support/golden.ts';
import { serviceManifest, sliceManifest } from '../support/manifests.ts';
import { nftablesFacts } from '../support/nftables-node.ts';
import { nftablesBed } from '../support/nftables-remote.ts';
import { upstreamNftables } from '../support/upstream-nftables.ts';

const PODS = {
  a1: ['10.244.1.11', 'n1'],
  a2: ['10.244.1.12', 'n1'],
  b1: ['10.244.2.11', 'n2'],
  b2: ['10.244.2.12', 'n2'],
} as const;
type Pod = keyof typeof PODS;

const UPSTREAM_SERVICE = { name: 'shop/cart', clusterIP: '10.99.0.21', nodePort: 30080, endpointIPs: ['10.244.2.11'] };
/** What stands there goes in the same transaction. */
const UPSTREAM_TABLE = `table ip kube-proxy\ndelete table ip kube-proxy\n${upstreamNftables(UPSTREAM_SERVICE)}`;

describe('the life of nftables mode', () => {
  const bed = nftablesBed();
  beforeEach(async () => {
    const facts = Object.fromEntries(FAMILIES.map((family) => [family, nftablesFacts(family)]));
    await bed.remote.tell({ restarts: true, facts, apply: [...GOLDEN_NODES, cart, slice('b1')] });
  });

  /** Clients ask in every way while `work` goes on, and at least once more after it. */
  async function whileAsked(work: () => Promise<void>): Promise<void> {
    const done = work().then(() => true);
    const asked = [
      { from: 'x', proto: 'tcp', to: '10.99.0.21:80' },
      { from: 'x', proto: 'tcp', to: '192.168.50.1:30080' },
      { from: 'a1', proto: 'tcp', to: '10.99.0.21:80' },
      { from: 'n1', proto: 'tcp', to: '10.99.0.21:80' },
    ] as const;
    const results = await Promise.all(
      asked.map(async (probe) => {
        const failed: unknown[] = [];
        for (let isDone = false; !isDone; ) {
          isDone = await Promise.race([done, Promise.resolve(false)]);
          const result = await bed.network.probe({ ...probe, count: 40 });
          if (result.failed) failed.push({ probe, result });
        }
        return failed;
      }),
    );
    assert.deepEqual(results.flat(), []);
  }

  test('a process that starts again and again is not noticed', () =>
    whileAsked(async () => {
      for (let i = 0; i < 20; i++)
        await bed.remote.tell({ restarts: true, apply: [...GOLDEN_NODES, cart, slice('b1')] });
    }));

  // Nobody asks while the other one comes: it exchanges the table in a way that loses a packet now and then (see the mode's README).
  test('another kube-proxy is taken over without a gap, and can come back', async () => {
    for (let i = 0; i < 20; i++) {
      const { status, stderr } = await bed.network.exec('n1', ['nft', '-f', '-'], { stdin: UPSTREAM_TABLE });
      assert.equal(status, 0, stderr);
      await whileAsked(() => bed.remote.tell({ restarts: true, apply: [...GOLDEN_NODES, cart, slice('b1')] }));
    }
  });

  test('endpoints come and go a thousand times while one stays', () =>
    whileAsked(async () => {
      const turns: Pod[][] = [['b1'], ['b1', 'a1'], ['a2', 'b1', 'b2'], ['b1', 'b2'], ['a1', 'a2', 'b1', 'b2']];
      for (let i = 0; i < 1000; i++) await bed.remote.tell({ apply: [slice(...turns[i % turns.length]!)] });
    }));

  test('node ports on 127.0.0.1 are served where they are asked for', async () => {
    const at = { from: 'n1', proto: 'tcp', to: '127.0.0.1:30080', count: 5 } as const;
    assert.equal((await bed.network.probe(at)).answered, undefined);
    await bed.network.exec('n1', ['sysctl', '-qw', 'net.ipv4.conf.all.route_localnet=1']);
    const nodePortAddresses = { kind: 'some', ips: ['127.0.0.1', '192.168.50.1'] } as const;
    await bed.remote.tell({
      facts: { IPv4: { ...nftablesFacts('IPv4'), nodePortAddresses, localhostNodePorts: true } },
    });
    assert.deepEqual((await bed.network.probe(at)).answered, { 'b1:8080': ['node'] });
    const everywhere = { kind: 'all' } as const;
    await bed.remote.tell({ facts: { IPv4: { ...nftablesFacts('IPv4'), nodePortAddresses: everywhere } } });
    assert.equal((await bed.network.probe(at)).answered, undefined);
    assert.deepEqual((await bed.network.probe({ ...at, to: '10.60.0.1:30080' })).answered, { 'b1:8080': ['node'] });
  });

  for (const [name, detector] of Object.entries({
    'an interface': { kind: 'interface', name: 'pod-a1' },
    'a prefix of interfaces': { kind: 'interface-prefix', prefix: 'pod-' },
    'any source': { kind: 'source', cidr: '0.0.0.0/0' },
    nothing: { kind: 'none' },
  } as const)) {
    test(`local traffic is told by ${name}`, async () => {
      await bed.remote.tell({ facts: { IPv4: { ...nftablesFacts('IPv4'), detector } } });
      const sourceSeen = async (from: string) =>
        Object.values(
          (await bed.network.probe({ from, proto: 'tcp', to: '10.99.0.21:80', count: 4 })).answered ?? {},
        ).flat();
      const isKnown = detector.kind === 'interface' || detector.kind === 'interface-prefix';
      assert.deepEqual(await sourceSeen('a1'), ['client']);
      assert.deepEqual(await sourceSeen('a2'), detector.kind === 'interface' ? ['node'] : ['client']);
      assert.deepEqual(await sourceSeen('x'), isKnown ? ['node'] : ['client']);
    });
  }
});

const cart: Manifest = serviceManifest('shop/cart', {
  type: 'NodePort',
  ports: [{ name: 'http', port: 80, nodePort: 30080 }],
});

function slice(...pods: readonly Pod[]): Manifest {
  const endpoints = pods.map((pod) => ({ addresses: [PODS[pod][0]], nodeName: PODS[pod][1] }));
  return sliceManifest('shop/cart', endpoints);
}
