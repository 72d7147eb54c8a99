// Session affinity of nftables mode by packets: over every address of a service, in both families, under both policies, until it
// ends; and what happens to it when endpoints or the process go.
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { FAMILIES } from '../../src/lib/ip.ts';
import { until } from '../support/agent.ts';
import { GOLDEN_NODES, type Manifest } from '../support/golden.ts';
import { serviceManifest, sliceManifest } from '../support/manifests.ts';
import { nftablesFacts } from '../support/nftables-node.ts';
import { nftablesBed } from '../support/nftables-remote.ts';

type Json = Readonly<Record<string, unknown>>;

describe('session affinity, nftables', () => {
  const bed = nftablesBed();
  beforeEach(async () => {
    await bed.network.exec('n1', ['nft', 'flush', 'ruleset']);
    const facts = Object.fromEntries(FAMILIES.map((family) => [family, nftablesFacts(family)]));
    await bed.remote.tell({ restarts: true, facts, apply: GOLDEN_NODES });
  });

  async function who(from: string, to: string, count = 8): Promise<string[]> {
    const result = await bed.network.probe({ from, proto: 'tcp', to, count });
    assert.equal(result.failed, undefined, JSON.stringify(result));
    return Object.keys(result.answered ?? {});
  }

  /** Clients, each with its time. */
  async function remembered(): Promise<string> {
    const { stdout } = await bed.network.exec('n1', ['nft', 'list', 'ruleset']);
    return (stdout.match(/\S+ timeout \S+ expires/g) ?? []).join('\n');
  }

  test('a client meets the same endpoint over cluster IP, node port, external and load-balancer IP', async () => {
    await bed.remote.tell({ apply: [sticky(), slice(['a1', 'a2', 'b1', 'b2'])] });
    const first = await who('x', '10.99.0.21:80');
    assert.equal(first.length, 1);
    for (const to of ['192.168.50.1:30080', '203.0.113.7:80', '198.51.100.7:80'])
      assert.deepEqual(await who('x', to), first, to);
    const others = await Promise.all(['a1', 'a2', 'n1'].map((from) => who(from, '192.168.50.1:30080')));
    assert.ok(others.every((one) => one.length === 1));
  });

  test('clients whose endpoint goes choose again, the others stay, and nobody comes back', async () => {
    await bed.remote.tell({ apply: [sticky(), slice(['a1', 'a2', 'b1', 'b2'])] });
    const clients = Array.from({ length: 12 }, (_, i) => `172.20.0.${i + 1}`);
    const met = new Map<string, string>();
    for (const bind of clients) met.set(bind, await only(bind));
    const gone = met.get(clients[0]!)!;
    const left = ['a1', 'a2', 'b1', 'b2'].filter((pod) => `${pod}:8080` !== gone);
    await bed.remote.tell({ apply: [slice(left)] });
    for (const bind of clients) {
      const now = await only(bind);
      assert.notEqual(now, gone);
      if (met.get(bind) !== gone) assert.equal(now, met.get(bind));
      met.set(bind, now);
    }
    await bed.remote.tell({ apply: [slice(['a1', 'a2', 'b1', 'b2'])] });
    for (const bind of clients) assert.equal(await only(bind), met.get(bind));

    async function only(bind: string): Promise<string> {
      const { answered } = await bed.network.probe({ from: 'x', proto: 'tcp', to: '10.99.0.21:80', count: 4, bind });
      const pods = Object.keys(answered ?? {});
      assert.equal(pods.length, 1, `${bind} met ${pods}`);
      return pods[0]!;
    }
  });

  test('endpoints that listen on different ports are remembered with their ports', async () => {
    const eighty = slice(['a1'], { ports: [{ name: 'http', port: 80 }] }, 'cart-2');
    await bed.remote.tell({ apply: [sticky(), slice(['b1']), eighty] });
    const seen = new Set<string>();
    for (let i = 1; i <= 20; i++) {
      const probe = { from: 'x', proto: 'tcp', to: '10.99.0.21:80', count: 4, bind: `172.20.0.${i}` } as const;
      const pods = Object.keys((await bed.network.probe(probe)).answered ?? {});
      assert.equal(pods.length, 1);
      seen.add(pods[0]!);
    }
    assert.deepEqual([...seen].sort(), ['a1:80', 'b1:8080']);
  });

  test('under policy Local outside clients stick to local endpoints and pods to any', async () => {
    await bed.remote.tell({ apply: [sticky({ externalTrafficPolicy: 'Local' }), slice(['a1', 'a2', 'b1', 'b2'])] });
    for (const to of ['192.168.50.1:30080', '203.0.113.7:80']) {
      const [pod, ...others] = await who('x', to);
      assert.deepEqual(others, []);
      assert.match(pod!, /^a[12]:/);
    }
    const inside = await who('a1', '10.99.0.21:80');
    assert.equal(inside.length, 1);
    assert.deepEqual(await who('a1', '203.0.113.7:80'), inside);
  });

  test('a cluster IP under policy Local sticks to local endpoints', async () => {
    await bed.remote.tell({ apply: [sticky({ internalTrafficPolicy: 'Local' }), slice(['a1', 'a2', 'b1'])] });
    const [pod, ...others] = await who('x', '10.99.0.21:80');
    assert.deepEqual(others, []);
    assert.match(pod!, /^a[12]:/);
    assert.equal((await who('x', '203.0.113.7:80')).length, 1);
  });

  test('IPv6 clients stick too', async () => {
    const spec = { clusterIP: 'fd00:10:96::21', ipFamilies: ['IPv6'], clusterIPs: ['fd00:10:96::21'], externalIPs: [] };
    await bed.remote.tell({ apply: [sticky(spec), slice(['a1', 'a2', 'b1', 'b2'], { addressType: 'IPv6' })] });
    const first = await who('x', '[fd00:10:96::21]:80');
    assert.equal(first.length, 1);
    assert.deepEqual(await who('x', '[fd00:50::1]:30080'), first);
  });

  test('a process that starts anew keeps what is remembered', async () => {
    const apply = [sticky(), slice(['a1', 'a2', 'b1', 'b2'])];
    await bed.remote.tell({ apply });
    const first = await who('x', '10.99.0.21:80');
    for (let i = 0; i < 3; i++) {
      await bed.remote.tell({ restarts: true, apply: [...GOLDEN_NODES, ...apply] });
      assert.deepEqual(await who('x', '10.99.0.21:80', 4), first);
    }
    assert.match(await remembered(), /192\.168\.50\.100 timeout 10m expires/);
  });

  test('what is remembered ends, and a changed time counts from then on', async () => {
    await bed.remote.tell({ apply: [sticky({}, 3), slice(['a1', 'b1'])] });
    await who('x', '10.99.0.21:80', 1);
    assert.match(await remembered(), /192\.168\.50\.100 timeout 3s expires/);
    await until(
      async () => (await remembered()) === '',
      10_000,
      () => 'it is remembered for ever',
    );
    await bed.remote.tell({ apply: [sticky({}, 3600)] });
    await who('x', '10.99.0.21:80', 1);
    assert.match(await remembered(), /192\.168\.50\.100 timeout 1h expires/);
  });
});

function sticky(spec: Json = {}, timeoutSeconds = 600): Manifest {
  return serviceManifest(
    'shop/cart',
    {
      type: 'LoadBalancer',
      sessionAffinity: 'ClientIP',
      sessionAffinityConfig: { clientIP: { timeoutSeconds } },
      externalIPs: ['198.51.100.7'],
      ports: [{ name: 'http', port: 80, nodePort: 30080 }],
      ...spec,
    },
    { loadBalancer: { ingress: [{ ip: '203.0.113.7' }] } },
  );
}

function slice(pods: readonly string[], fields: Json = {}, name = ''): Manifest {
  const endpoints = pods.map((pod) => {
    const node = pod.startsWith('a') ? 1 : 2;
    const last = pod.endsWith('1') ? 11 : 12;
    const address = fields.addressType === 'IPv6' ? `fd00:10:244:${node}::${last}` : `10.244.${node}.${last}`;
    return { addresses: [address], nodeName: `n${node}`, conditions: { ready: true } };
  });
  return sliceManifest('shop/cart', endpoints, fields, name);
}
