// The health server over real HTTP: bodies, headers and codes, and how it comes to listen.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { apiLost, type HealthState, nodeSeen, queued, startHealth, updated } from '../../src/observe/health.ts';
import { startHealthServer } from '../../src/observe/http-servers.ts';
import { ask } from './http-ask.ts';

const TEN = Date.parse('2026-03-02T10:00:00Z');
const SEEN = { isBeingDeleted: false, taintKeys: [] };

/** Both loops started a minute before ten, and the node is known. */
function running(): HealthState {
  const started = updated(updated(startHealth(30_000), 'IPv4', TEN - 60_000), 'IPv6', TEN - 59_450);
  return nodeSeen(started, SEEN);
}

async function serve(t: TestContext, state: () => HealthState, now = () => TEN, bindAddress = '127.0.0.1:0') {
  const counted: string[] = [];
  let server: ReturnType<typeof startHealthServer> | undefined;
  t.after(() => server?.close());
  const port = await new Promise<number>((resolve, reject) => {
    server = startHealthServer(
      { state, clock: { now, wallNow: now }, countAnswer: (path, status) => counted.push(`${path} ${status}`) },
      {
        bindAddress,
        isHardFail: true,
        onRetry: reject,
        onFatal: reject,
        onPageError: reject,
        onListening: (address) => resolve(address.port),
      },
    );
  });
  return { port, counted };
}

test('/healthz of a healthy proxy is 200, says now, and has the keys load balancers read, in order', async (t) => {
  const { port, counted } = await serve(t, running);
  const { status, headers, body } = await ask(port, '/healthz');
  assert.equal(status, 200);
  assert.equal(headers['content-type'], 'application/json');
  assert.equal(headers['x-content-type-options'], 'nosniff');
  assert.equal(
    body,
    '{"lastUpdated":"2026-03-02T10:00:00Z","currentTime":"2026-03-02T10:00:00Z","nodeEligible":true,"healthy":true,' +
      '"status":{"IPv4":{"lastUpdated":"2026-03-02T09:59:00Z","healthy":true},' +
      '"IPv6":{"lastUpdated":"2026-03-02T09:59:00.55Z","healthy":true}}}',
  );
  assert.deepEqual(counted, ['healthz 200']);
});

test('/livez leaves eligibility out', async (t) => {
  const { port, counted } = await serve(t, () => nodeSeen(running(), { ...SEEN, isBeingDeleted: true }));
  const { status, body } = await ask(port, '/livez');
  assert.equal(status, 200);
  assert.equal(
    body,
    '{"lastUpdated":"2026-03-02T10:00:00Z","currentTime":"2026-03-02T10:00:00Z","healthy":true,' +
      '"status":{"IPv4":{"lastUpdated":"2026-03-02T09:59:00Z","healthy":true},' +
      '"IPv6":{"lastUpdated":"2026-03-02T09:59:00.55Z","healthy":true}}}',
  );
  assert.deepEqual(counted, ['livez 200']);
});

test('a change that no sync carries out makes both paths 503 after two sync periods and not before', async (t) => {
  let now = TEN;
  let state = queued(running(), 'IPv4', TEN);
  const { port, counted } = await serve(
    t,
    () => state,
    () => now,
  );

  now = TEN + 59_999;
  assert.equal((await ask(port, '/healthz')).status, 200);
  now = TEN + 60_000;
  const answer = await ask(port, '/healthz');
  assert.equal(answer.status, 503);
  assert.equal(
    answer.body,
    '{"lastUpdated":"2026-03-02T09:59:00.55Z","currentTime":"2026-03-02T10:01:00Z","nodeEligible":true,"healthy":false,' +
      '"status":{"IPv4":{"lastUpdated":"2026-03-02T09:59:00Z","healthy":false},' +
      '"IPv6":{"lastUpdated":"2026-03-02T09:59:00.55Z","healthy":true}}}',
  );
  assert.equal((await ask(port, '/livez')).status, 503);

  state = updated(state, 'IPv4', now);
  assert.equal((await ask(port, '/healthz')).status, 200);
  assert.deepEqual(counted, ['healthz 200', 'healthz 503', 'livez 503', 'healthz 200']);
});

test('a node about to be removed is 503 on /healthz while the proxy itself is healthy', async (t) => {
  const { port } = await serve(t, () =>
    nodeSeen(running(), { ...SEEN, taintKeys: ['ToBeDeletedByClusterAutoscaler'] }),
  );
  const { status, body } = await ask(port, '/healthz');
  assert.equal(status, 503);
  assert.match(body, /"nodeEligible":false,"healthy":true/);
  assert.match(body, /^\{"lastUpdated":"2026-03-02T09:59:00.55Z"/);
});

test('before the loops start there is no status, and before a Node is seen the last update is never', async (t) => {
  const { port } = await serve(t, () => startHealth(30_000));
  assert.deepEqual(await ask(port, '/healthz').then(({ status, body }) => [status, body]), [
    503,
    '{"lastUpdated":"0001-01-01T00:00:00Z","currentTime":"2026-03-02T10:00:00Z","nodeEligible":false,"healthy":true}',
  ]);
  assert.equal((await ask(port, '/livez')).status, 200);
});

test('losing the API server changes no code and no key, and adds since when', async (t) => {
  const { port } = await serve(t, () => apiLost(running(), TEN - 840_000));
  const plain = await serve(t, running);
  for (const path of ['/healthz', '/livez']) {
    const lost = await ask(port, path);
    assert.equal(lost.status, 200);
    const expected = (await ask(plain.port, path)).body.slice(0, -1);
    assert.equal(lost.body, `${expected},"apiServer":{"connected":false,"since":"2026-03-02T09:46:00Z"}}`);
  }
});

test('any method is answered, and any other path is not found', async (t) => {
  const { port } = await serve(t, running);
  assert.equal((await ask(port, '/healthz', { method: 'POST', body: 'x' })).status, 200);
  assert.equal((await ask(port, '/healthz?verbose')).status, 200);
  assert.deepEqual(await ask(port, '/healthz', { method: 'HEAD' }).then(({ status, body }) => [status, body]), [
    200,
    '',
  ]);
  for (const path of ['/', '/healthz/', '/metrics', '//healthz']) {
    const { status, headers, body } = await ask(port, path);
    assert.deepEqual(
      [status, headers['content-type'], body],
      [404, 'text/plain; charset=utf-8', '404 page not found\n'],
      path,
    );
  }
});

test('the IPv4 wildcard is one socket for both families', async (t) => {
  const { port } = await serve(t, running, undefined, '0.0.0.0:0');
  assert.equal((await ask(port, '/livez', { host: '127.0.0.1' })).status, 200);
  assert.equal((await ask(port, '/livez', { host: '::1' })).status, 200);
});

test('a port that is taken is tried again until it is free', async (t) => {
  const squatter = createServer();
  await new Promise<void>((resolve) => squatter.listen(0, '127.0.0.1', resolve));
  const { port } = squatter.address() as { port: number };
  const retries: string[] = [];
  let server: ReturnType<typeof startHealthServer> | undefined;
  t.after(() => server?.close());
  await new Promise<void>((resolve, reject) => {
    server = startHealthServer(
      { state: running, clock: { now: () => TEN, wallNow: () => TEN }, countAnswer: () => {} },
      {
        bindAddress: `127.0.0.1:${port}`,
        isHardFail: false,
        retryMs: 10,
        onFatal: reject,
        onPageError: reject,
        onListening: () => resolve(),
        onRetry: (error) => {
          retries.push(error.message);
          if (retries.length === 2) squatter.close();
        },
      },
    );
  });
  assert.equal(
    retries[0],
    `failed to start proxy healthz on 127.0.0.1:${port}: listen tcp 127.0.0.1:${port}: bind: address already in use`,
  );
  assert.equal((await ask(port, '/healthz')).status, 200);
});

test('with hard failure a port that is taken is fatal, in words that runbooks know', async (t) => {
  const squatter = createServer();
  t.after(() => squatter.close());
  await new Promise<void>((resolve) => squatter.listen(0, '127.0.0.1', resolve));
  const { port } = squatter.address() as { port: number };
  await assert.rejects(serve(t, running, undefined, `127.0.0.1:${port}`), {
    message:
      `healthz server failed: failed to start proxy healthz on 127.0.0.1:${port}: ` +
      `listen tcp 127.0.0.1:${port}: bind: address already in use`,
  });
});
