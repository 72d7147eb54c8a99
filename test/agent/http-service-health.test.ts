// Health-check node ports over real HTTP, on loopback addresses in place of the node's.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import {
  type BindFailure,
  bindFailureNote,
  type HealthCheckedService,
  listenerChanges,
  ServiceHealthServers,
} from '../../src/observe/service-health.ts';
import { ask } from './http-ask.ts';

interface Setup {
  readonly addresses?: readonly string[];
  readonly isProxyHealthy?: () => boolean;
}

interface SetUp {
  readonly servers: ServiceHealthServers;
  readonly failures: BindFailure[];
  /** Listeners that came and went. */
  readonly told: string[];
}

function setUp(t: TestContext, { addresses = ['127.0.0.1'], isProxyHealthy = () => true }: Setup = {}): SetUp {
  const failures: BindFailure[] = [];
  const told: string[] = [];
  const servers = new ServiceHealthServers({
    addresses,
    isProxyHealthy,
    onBindFailure: (failure) => failures.push(failure),
    onChange: (change, service, port) => told.push(`${change} ${service} ${port}`),
  });
  t.after(() => servers.close());
  return { servers, failures, told };
}

function checkout(port: number, localEndpoints: number): HealthCheckedService {
  return { namespace: 'shop', name: 'checkout-lb', port, localEndpoints };
}

async function freePort(): Promise<number> {
  const server = await occupy(0, '127.0.0.1');
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function occupy(port: number, host: string) {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  return server;
}

test('a service with local endpoints answers 200, its weight, and a tab-indented body without a last newline', async (t) => {
  const { servers } = setUp(t);
  const port = await freePort();
  await servers.sync([checkout(port, 2)]);
  for (const [path, method] of [
    ['/', 'GET'],
    ['/any/path?x=1', 'POST'],
  ] as const) {
    const { status, headers, body } = await ask(port, path, { method });
    assert.equal(status, 200);
    assert.equal(headers['content-type'], 'application/json');
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.equal(headers['x-load-balancing-endpoint-weight'], '2');
    assert.equal(
      body,
      '{\n\t"service": {\n\t\t"namespace": "shop",\n\t\t"name": "checkout-lb"\n\t},\n' +
        '\t"localEndpoints": 2,\n\t"serviceProxyHealthy": true\n}',
    );
  }
});

test('no local endpoint, or an unhealthy proxy, answers 503', async (t) => {
  let isHealthy = true;
  const { servers } = setUp(t, { isProxyHealthy: () => isHealthy });
  const port = await freePort();
  await servers.sync([checkout(port, 0)]);
  const none = await ask(port, '/');
  assert.deepEqual([none.status, none.headers['x-load-balancing-endpoint-weight']], [503, '0']);
  await servers.sync([checkout(port, 3)]);
  assert.equal((await ask(port, '/')).status, 200);
  isHealthy = false;
  const unhealthy = await ask(port, '/');
  assert.deepEqual([unhealthy.status, unhealthy.headers['x-load-balancing-endpoint-weight']], [503, '3']);
  assert.match(unhealthy.body, /"serviceProxyHealthy": false/);
});

test('a removed service and a changed port close the old listener at once', async (t) => {
  const { servers, told } = setUp(t);
  const [first, second] = [await freePort(), await freePort()];
  await servers.sync([checkout(first, 1)]);
  await servers.sync([checkout(second, 1)]);
  await assert.rejects(ask(first, '/'), { code: 'ECONNREFUSED' });
  assert.equal((await ask(second, '/')).status, 200);
  await servers.sync([]);
  await assert.rejects(ask(second, '/'), { code: 'ECONNREFUSED' });
  const name = 'shop/checkout-lb';
  assert.deepEqual(told, [
    `opened ${name} ${first}`,
    `closed ${name} ${first}`,
    `opened ${name} ${second}`,
    `closed ${name} ${second}`,
  ]);
});

test('two services can swap their ports in one sync', async (t) => {
  const { servers, failures } = setUp(t);
  const [a, b] = [await freePort(), await freePort()];
  const cart = (port: number) => ({ ...checkout(port, 7), name: 'cart-lb' });
  await servers.sync([checkout(a, 1), cart(b)]);
  await servers.sync([checkout(b, 1), cart(a)]);
  assert.deepEqual(failures, []);
  assert.match((await ask(a, '/')).body, /"cart-lb"/);
  assert.match((await ask(b, '/')).body, /"checkout-lb"/);
});

test('if one of several addresses is taken none stays open, and the next sync tries again', async (t) => {
  const { servers, failures } = setUp(t, { addresses: ['127.0.0.1', '127.0.0.2'] });
  const port = await freePort();
  const squatter = await occupy(port, '127.0.0.2');
  assert.equal(await servers.sync([checkout(port, 1)]), false);
  assert.equal(await servers.sync([checkout(port, 2)]), false);
  assert.equal(failures.length, 1, 'the same failure is told once');
  await assert.rejects(ask(port, '/'), { code: 'ECONNREFUSED' });
  assert.equal(
    bindFailureNote('node-1', failures[0]!),
    `node node-1 failed to start healthcheck "shop/checkout-lb" on port ${port}: ` +
      `listen tcp4 127.0.0.2:${port}: bind: address already in use`,
  );
  await new Promise((resolve) => squatter.close(resolve));
  assert.equal(await servers.sync([checkout(port, 1)]), true);
  assert.equal(failures.length, 1);
  assert.equal((await ask(port, '/', { host: '127.0.0.1' })).status, 200);
  assert.equal((await ask(port, '/', { host: '127.0.0.2' })).status, 200);
});

test('the families keep to themselves: each opens the same port on its own wildcard', async (t) => {
  const v4 = setUp(t, { addresses: ['0.0.0.0'] });
  const v6 = setUp(t, { addresses: ['::'] });
  const port = await freePort();
  await v4.servers.sync([checkout(port, 4)]);
  await v6.servers.sync([checkout(port, 6)]);
  assert.deepEqual([...v4.failures, ...v6.failures], []);
  const weight = async (host: string) => (await ask(port, '/', { host })).headers['x-load-balancing-endpoint-weight'];
  assert.equal(await weight('127.0.0.1'), '4');
  assert.equal(await weight('::1'), '6');
});

test('syncs that overlap are carried out in turn', async (t) => {
  const { servers, failures } = setUp(t);
  const port = await freePort();
  await Promise.all([servers.sync([checkout(port, 1)]), servers.sync([]), servers.sync([checkout(port, 5)])]);
  assert.deepEqual(failures, []);
  assert.equal((await ask(port, '/')).headers['x-load-balancing-endpoint-weight'], '5');
});

test('the difference names only what must close and open', () => {
  const open = new Map([
    ['a/stays', 1],
    ['a/moves', 2],
    ['a/goes', 3],
  ]);
  const wanted = new Map(
    [
      ['stays', 1],
      ['moves', 20],
      ['comes', 4],
    ].map(([name, port]) => [
      `a/${name}`,
      { namespace: 'a', name: String(name), port: Number(port), localEndpoints: 0 },
    ]),
  );
  const changes = listenerChanges(open, wanted);
  assert.deepEqual(changes.close, ['a/moves', 'a/goes']);
  assert.deepEqual(
    changes.open.map(({ name, port }) => [name, port]),
    [
      ['moves', 20],
      ['comes', 4],
    ],
  );
});
