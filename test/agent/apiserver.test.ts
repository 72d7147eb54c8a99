// The embedded API server as a client of the API sees it: versions, lists, watches, selectors, and its faults.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { get as getTls } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type ApiServer, startApiServer } from '../../src/lab/apiserver/server.ts';
import {
  type Event,
  nodeObject,
  openWatch,
  request,
  serviceObject,
  sliceObject,
  withServer,
} from './apiserver-support.ts';

test('objects are created, read, replaced and deleted', () =>
  withServer({}, async (server) => {
    const path = '/api/v1/namespaces/default/services';
    const created = await request(server, 'POST', path, serviceObject('cart'));
    assert.equal(created.status, 201);
    assert.match(created.body.metadata.uid!, /^[0-9a-f-]{36}$/);
    assert.match(created.body.spec.clusterIP!, /^10\.96\./);

    const changed = { ...created.body, metadata: { ...created.body.metadata, labels: { tier: 'front' } } };
    const replaced = await request(server, 'PUT', `${path}/cart`, changed);
    assert.equal(replaced.status, 200);
    assert.ok(Number(replaced.body.metadata.resourceVersion) > Number(created.body.metadata.resourceVersion));

    const stale = await request(server, 'PUT', `${path}/cart`, changed);
    assert.equal(stale.status, 409);
    assert.match(stale.body.message, /the object has been modified; please apply your changes to the latest version/);

    assert.equal((await request(server, 'DELETE', `${path}/cart`)).status, 200);
    const gone = await request(server, 'GET', `${path}/cart`);
    assert.equal(gone.status, 404);
    assert.equal(gone.body.message, 'services "cart" not found');
  }));

test('a list has a version from which a watch goes on without a gap', () =>
  withServer({}, async (server) => {
    server.apply(serviceObject('a'));
    const list = await request(server, 'GET', '/api/v1/services');
    assert.equal(list.body.kind, 'ServiceList');
    assert.equal(list.body.items[0]!.kind, undefined);
    server.apply(serviceObject('b'));
    const watch = await openWatch(
      server,
      `/api/v1/services?watch=true&resourceVersion=${list.body.metadata.resourceVersion}`,
    );
    server.delete('services', 'default', 'a');
    const events = await watch.take(2);
    assert.deepEqual(events.map(brief), ['ADDED b', 'DELETED a']);
    watch.close();
  }));

test('a streaming list sends what there is, then a bookmark that says so, then changes', () =>
  withServer({}, async (server) => {
    server.seed([nodeObject('n1'), nodeObject('n2')]);
    const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const watch = await openWatch(server, `/api/v1/nodes?${query}`);
    const events = await watch.take(3);
    assert.deepEqual(events.map(brief), ['ADDED n1', 'ADDED n2', 'BOOKMARK undefined']);
    assert.equal(events[2]!.object.metadata.annotations?.['k8s.io/initial-events-end'], 'true');
    server.apply(nodeObject('n3'));
    assert.deepEqual((await watch.take(1)).map(brief), ['ADDED n3']);
    watch.close();
  }));

test('an object that stops matching the selector is seen as deleted', () =>
  withServer({}, async (server) => {
    server.apply(serviceObject('web'));
    server.apply(serviceObject('headless', { clusterIP: 'None' }));
    const label = encodeURIComponent('!service.kubernetes.io/service-proxy-name');
    const field = encodeURIComponent('spec.clusterIP!=None');
    const watch = await openWatch(server, `/api/v1/services?watch=1&labelSelector=${label}&fieldSelector=${field}`);
    assert.deepEqual((await watch.take(1)).map(brief), ['ADDED web']);
    const labelled = serviceObject('web');
    labelled.metadata.labels = { 'service.kubernetes.io/service-proxy-name': 'other' };
    server.apply(labelled);
    const [event] = await watch.take(1);
    assert.equal(brief(event!), 'DELETED web');
    assert.equal(
      event!.object.metadata.resourceVersion,
      server.get('services', 'default', 'web')!.metadata.resourceVersion,
    );
    watch.close();
  }));

test('a watch from a forgotten version is told 410 in its stream', () =>
  withServer({ watchWindow: 2 }, async (server) => {
    for (let i = 0; i < 10; i++) server.apply(sliceObject('s', [`10.0.0.${i + 1}`]));
    const watch = await openWatch(server, '/apis/discovery.k8s.io/v1/endpointslices?watch=1&resourceVersion=1');
    const [event] = await watch.take(1);
    assert.equal(event!.type, 'ERROR');
    assert.equal((event!.object as unknown as { code: number }).code, 410);
    assert.equal(await watch.ended, 'ended');
  }));

test('a list is served in pages of one snapshot', () =>
  withServer({}, async (server) => {
    server.seed(['a', 'b', 'c'].map((name) => serviceObject(name)));
    const first = await request(server, 'GET', '/api/v1/services?limit=2');
    assert.equal(first.body.metadata.remainingItemCount, 1);
    server.delete('services', 'default', 'c');
    const token = first.body.metadata.continue;
    const second = await request(server, 'GET', `/api/v1/services?limit=2&continue=${token}`);
    assert.deepEqual(
      second.body.items.map((item: Event['object']) => item.metadata.name),
      ['c'],
    );
    server.faults.expireVersions();
    assert.equal((await request(server, 'GET', `/api/v1/services?limit=2&continue=${token}`)).status, 410);
  }));

test('a watch ends cleanly after its timeout, with a last bookmark', () =>
  withServer({}, async (server) => {
    const watch = await openWatch(server, '/api/v1/services?watch=1&allowWatchBookmarks=true&timeoutSeconds=1');
    assert.equal((await watch.take(1))[0]!.type, 'BOOKMARK');
    assert.equal(await watch.ended, 'ended');
  }));

test('the next answers of a resource can be errors', () =>
  withServer({}, async (server) => {
    server.faults.answer({ status: 429, resource: 'services', times: 1, retryAfterSeconds: 3 });
    const refused = await request(server, 'GET', '/api/v1/services');
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get('retry-after'), '3');
    assert.equal((await request(server, 'GET', '/api/v1/nodes')).status, 200);
    assert.equal((await request(server, 'GET', '/api/v1/services')).status, 200);
  }));

test('an event can be cut in the middle', () =>
  withServer({}, async (server) => {
    const watch = await openWatch(server, '/api/v1/services?watch=1');
    server.faults.cutMidEvent({ resource: 'services', times: 1 });
    server.apply(serviceObject('a'));
    assert.equal(await watch.ended, 'cut');
    assert.match(watch.rest(), /^\{"type":"ADDED"/);
  }));

test('a stalled watch carries no bytes until it is resumed', () =>
  withServer({}, async (server) => {
    const watch = await openWatch(server, '/api/v1/services?watch=1');
    server.faults.stall({ resource: 'services' });
    server.apply(serviceObject('a'));
    await request(server, 'GET', '/api/v1/services');
    assert.equal(watch.rest(), '');
    server.faults.resume();
    assert.deepEqual((await watch.take(1)).map(brief), ['ADDED a']);
    watch.close();
  }));

test('an open watch can be told an error', () =>
  withServer({}, async (server) => {
    const watch = await openWatch(server, '/api/v1/services?watch=1');
    server.faults.failWatches(410, { resource: 'services' });
    const [event] = await watch.take(1);
    assert.equal(event!.type, 'ERROR');
    assert.equal(await watch.ended, 'ended');
  }));

test('bookmarks can be asked for and dropped', () =>
  withServer({}, async (server) => {
    const watch = await openWatch(server, '/api/v1/nodes?watch=1&allowWatchBookmarks=true&resourceVersion=1');
    server.apply(serviceObject('elsewhere'));
    server.faults.dropBookmarks();
    server.faults.sendBookmarks();
    server.faults.dropBookmarks(false);
    server.faults.sendBookmarks();
    const [event] = await watch.take(1);
    assert.equal(event!.object.metadata.resourceVersion, String(server.world.store.version));
    assert.equal(watch.rest(), '');
    watch.close();
  }));

test('an answer can be late', () =>
  withServer({}, async (server) => {
    server.faults.delay(60, { resource: 'services', verb: 'list', times: 1 });
    const order: string[] = [];
    const late = request(server, 'GET', '/api/v1/services').then(() => order.push('services'));
    const prompt = request(server, 'GET', '/api/v1/nodes').then(() => order.push('nodes'));
    await Promise.all([late, prompt]);
    assert.deepEqual(order, ['nodes', 'services']);
  }));

test('TLS is spoken with the certificate that was given', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'portolan-tls-'));
  const file = (name: string) => join(folder, name);
  try {
    const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'];
    const files = ['-keyout', file('key'), '-out', file('cert')];
    const { status } = spawnSync('openssl', ['req', '-x509', ...made, ...subject, ...files]);
    assert.equal(status, 0, 'openssl makes a certificate');
    const [key, cert] = [await readFile(file('key'), 'utf8'), await readFile(file('cert'), 'utf8')];
    await withServer({ tls: { key, cert } }, async (server) => {
      const body = await new Promise<string>((resolve, reject) => {
        const read = (response: IncomingMessage) => response.setEncoding('utf8').on('data', resolve);
        getTls(`${server.url}/version`, { ca: cert, agent: false }, read).on('error', reject);
      });
      assert.match(body, /portolan-lab/);
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('half a document is sent and the connection cut', () =>
  withServer({}, async (server) => {
    server.apply(serviceObject('a'));
    server.faults.truncate({ times: 1 });
    await assert.rejects(request(server, 'GET', '/api/v1/services'));
  }));

test('after a restart with a new history versions are lower and a known one is too large', { timeout: 20_000 }, () =>
  withServer({ firstVersion: 5000 }, async (server) => {
    server.apply(serviceObject('a'));
    const before = await request(server, 'GET', '/api/v1/services');
    server.faults.restart({ firstVersion: 10 });
    const after = await request(server, 'GET', '/api/v1/services');
    assert.ok(Number(after.body.metadata.resourceVersion) < Number(before.body.metadata.resourceVersion));
    const old = await request(
      server,
      'GET',
      `/api/v1/services?resourceVersion=${before.body.metadata.resourceVersion}`,
    );
    assert.equal(old.status, 504);
    assert.match(old.body.message, /Too large resource version/);
  }),
);

test('connections can be refused and accepted again on the same port', () =>
  withServer({}, async (server) => {
    await server.faults.refuseConnections();
    await assert.rejects(request(server, 'GET', '/version'));
    await server.faults.acceptConnections();
    assert.equal((await request(server, 'GET', '/version')).status, 200);
  }));

test('a token may do what its rules say and nothing else', () => {
  const rules = [{ apiGroups: [''], resources: ['services'], verbs: ['list', 'watch'] }];
  return withServer({ access: [{ token: 't', user: 'system:kube-proxy', rules }] }, async (server) => {
    assert.equal((await request(server, 'GET', '/api/v1/services')).status, 401);
    const headers = { Authorization: 'Bearer t' };
    assert.equal((await request(server, 'GET', '/api/v1/services', undefined, headers)).status, 200);
    const refused = await request(server, 'GET', '/api/v1/nodes', undefined, headers);
    assert.equal(refused.status, 403);
    assert.equal(
      refused.body.message,
      'nodes is forbidden: User "system:kube-proxy" cannot list resource "nodes" in API group "" at the cluster scope',
    );
  });
});

test('what the lab lacks is said by name', () =>
  withServer({}, async (server) => {
    const answer = await request(server, 'GET', '/apis/batch/v1/jobs');
    assert.equal(answer.status, 404);
    assert.match(answer.body.message, /this lab's API server has no jobs\.batch/);
  }));

function brief({ type, object }: Event): string {
  return `${type} ${object.metadata.name}`;
}

test('the server leaves nothing open', async () => {
  const server: ApiServer = await startApiServer();
  await openWatch(server, '/api/v1/services?watch=1');
  await server.close();
  await assert.rejects(request(server, 'GET', '/version'));
});
