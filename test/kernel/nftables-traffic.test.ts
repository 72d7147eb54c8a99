// What rows count, by connections through a real kernel, over changes of the rows.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import test, { after, before } from 'node:test';
import { Nftables } from '../../src/kernel/nftables.ts';
import { continueInSandbox } from '../../src/lab/sandbox.ts';
import { TrafficTotals } from '../../src/modes/nftables/traffic.ts';
import { sync } from '../../src/pipeline.ts';
import { TestCluster } from '../support/cluster.ts';
import { serviceManifest, sliceManifest } from '../support/manifests.ts';
import { nftablesNode } from '../support/nftables-node.ts';

continueInSandbox(import.meta.url);

const ENDPOINTS = ['192.168.50.1', '192.168.50.2', '192.168.50.3'] as const;
const nftables = new Nftables();
const servers = ENDPOINTS.map(() => createServer((socket) => socket.end()));

before(async () => {
  execFileSync('ip', ['link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'v1']);
  execFileSync('ip', ['link', 'set', 'v0', 'up']);
  execFileSync('ip', ['link', 'set', 'v1', 'up']);
  for (const ip of ENDPOINTS) execFileSync('ip', ['address', 'add', `${ip}/32`, 'dev', 'lo']);
  execFileSync('ip', ['route', 'add', 'default', 'dev', 'v0', 'src', '192.168.50.1']);
  for (const [i, server] of servers.entries()) {
    server.listen(8080, ENDPOINTS[i]);
    await once(server, 'listening');
  }
});
after(() => {
  for (const server of servers) server.close();
  nftables.close();
});

async function ask(count: number, host: string, port: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const socket = connect(port, host);
    socket.resume();
    await once(socket, 'close');
  }
}

function slice(...ips: readonly string[]) {
  return sliceManifest(
    'shop/cart',
    ips.map((ip) => ({ addresses: [ip] })),
  );
}

test('totals go on over changes of rows and forget who is gone', async () => {
  const ports = [{ name: 'http', port: 80, nodePort: 30080 }];
  const cluster = new TestCluster().apply(
    serviceManifest('shop/cart', { type: 'NodePort', ports }),
    slice(ENDPOINTS[1]),
  );
  const node = nftablesNode(nftables, cluster.tracker, 'IPv4');
  const totals = new TrafficTotals();
  const read = async () => {
    const traffic = await totals.read(node.drivers, node.plan!);
    return Object.fromEntries(
      traffic.map(({ address, connections, endpoints }) => [
        address,
        [Number(connections), Object.fromEntries([...endpoints].map(([ip, count]) => [ip, Number(count.connections)]))],
      ]),
    );
  };
  await sync(node);
  await ask(3, '10.99.0.21', 80);
  await ask(2, '192.168.50.1', 30080);
  assert.deepEqual(await read(), {
    '10.99.0.21:80': [3, { '192.168.50.2:8080': 3 }],
    ':30080': [2, { '192.168.50.2:8080': 2 }],
  });
  cluster.apply(slice(ENDPOINTS[0]));
  await sync(node);
  await ask(4, '10.99.0.21', 80);
  assert.deepEqual(await read(), {
    '10.99.0.21:80': [7, { '192.168.50.1:8080': 4 }],
    ':30080': [2, { '192.168.50.1:8080': 0 }],
  });
  cluster.apply(slice(...ENDPOINTS));
  await sync(node);
  await ask(30, '10.99.0.21', 80);
  const after = await read();
  assert.equal(after['10.99.0.21:80']?.[0], 37);
  const shares = Object.values(after['10.99.0.21:80']![1]!);
  assert.equal(
    shares.reduce((sum, share) => sum + share, 0),
    34,
  );
  assert.ok(shares.every((share) => share > 0));
});
