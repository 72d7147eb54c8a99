// Who we are and how we get there: certificates, tokens, plugins and proxies, against real servers with certificates made
// for the test.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { ApiClient, type RequestReport } from '../../src/api/client/client.ts';
import { ANONYMOUS, type ApiConfig } from '../../src/api/client/config.ts';
import { ApiError } from '../../src/api/client/error.ts';
import { loadApiConfig } from '../../src/api/client/load.ts';
import { silentLog } from '../../src/api/client/log.ts';
import type { ApiRequest } from '../../src/api/client/request.ts';
import { type Answer, configFor, json, page, recordingLog, scriptedServer, status } from './api-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'portolan-api-'));
after(() => rmSync(folder, { recursive: true }));
const file = (name: string): string => join(folder, name);
const read = (name: string): string => readFileSync(file(name), 'utf8');

certificate('ca', '/CN=test-ca', []);
certificate('other-ca', '/CN=other-ca', []);
certificate('server', '/CN=server', ['-CA', file('ca.crt'), '-CAkey', file('ca.key')], 'IP:127.0.0.1,DNS:api.test');
certificate('first', '/CN=first', ['-CA', file('ca.crt'), '-CAkey', file('ca.key')]);
certificate('second', '/CN=second', ['-CA', file('ca.crt'), '-CAkey', file('ca.key')]);

function certificate(name: string, subject: string, issuer: readonly string[], names = ''): void {
  const extension = names === '' ? [] : ['-addext', `subjectAltName=${names}`];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', file(`${name}.key`)];
  const rest = ['-x509', '-out', file(`${name}.crt`), '-subj', subject, '-days', '2', ...issuer, ...extension];
  execFileSync('openssl', ['req', ...key, ...rest], { stdio: 'ignore' });
}

const serverTls = { cert: read('server.crt'), key: read('server.key') };
const mutualTls = { ...serverTls, ca: read('ca.crt'), requestCert: true, rejectUnauthorized: true };
const trusting: ApiConfig['tls'] = {
  ca: { kind: 'file', path: file('ca.crt') },
  serverName: '',
  insecureSkipVerify: false,
};
const ok = json({ kind: 'Ok' });
const get: ApiRequest = { method: 'GET', path: '/version' };

function clientFor(
  t: TestContext,
  config: ApiConfig,
  more: Partial<ConstructorParameters<typeof ApiClient>[1]> = {},
): ApiClient {
  const client = new ApiClient(config, { userAgent: 'kube-proxy/test', qps: -1, burst: 1, env: {}, ...more });
  t.after(() => client.close());
  return client;
}

async function failure(promise: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason) => reason,
  );
  assert.ok(error instanceof ApiError, `an ApiError was expected, not ${error}`);
  return error;
}

test('a server whose certificate the CA signed is trusted, and connections are used again', async (t) => {
  const server = await scriptedServer(t, [ok, ok], serverTls);
  const client = clientFor(t, configFor(server.url, { tls: trusting }));
  assert.deepEqual(await client.json(get), { kind: 'Ok' });
  assert.deepEqual(await client.json(get), { kind: 'Ok' });
  assert.equal(server.requests[0]?.headers['user-agent'], 'kube-proxy/test');
  assert.equal(server.requests[0]?.headers.accept, 'application/json');
  assert.equal(server.connections, 1);
});

test('a read on a connection that the server had given up is sent again on a new one', async (t) => {
  const reset: Answer = (_response, request) => request.socket.resetAndDestroy();
  const server = await scriptedServer(t, [ok, reset, ok]);
  const client = clientFor(t, configFor(server.url));
  await client.json(get);
  assert.deepEqual(await client.json(get), { kind: 'Ok' });
  assert.equal(server.connections, 2);
});

test('a server with a certificate of another CA is refused, unless told not to look', async (t) => {
  const server = await scriptedServer(t, [ok], serverTls);
  const ca = { kind: 'file', path: file('other-ca.crt') } as const;
  const error = await failure(clientFor(t, configFor(server.url, { tls: { ...trusting, ca } })).json(get));
  assert.equal(error.code, 'API_UNREACHABLE');
  assert.match(error.message, /certificate|signature/);
  const tls = { ca: undefined, serverName: '', insecureSkipVerify: true };
  assert.deepEqual(await clientFor(t, configFor(server.url, { tls })).json(get), { kind: 'Ok' });
});

test('tls-server-name is the name that is asked for and checked', async (t) => {
  const server = await scriptedServer(t, [ok], serverTls);
  const named = (serverName: string): ApiConfig => configFor(server.url, { tls: { ...trusting, serverName } });
  assert.deepEqual(await clientFor(t, named('api.test')).json(get), { kind: 'Ok' });
  assert.match((await failure(clientFor(t, named('other.test')).json(get))).message, /other\.test/);
});

test('client certificate files are used anew once they have changed, also through a half-finished change', async (t) => {
  const server = await scriptedServer(t, [ok, ok, ok], mutualTls);
  writeFileSync(file('client.crt'), read('first.crt'));
  writeFileSync(file('client.key'), read('first.key'));
  const user = {
    ...ANONYMOUS,
    certificate: { kind: 'file', path: file('client.crt') },
    key: { kind: 'file', path: file('client.key') },
  } as const;
  const { log, lines } = recordingLog();
  const client = clientFor(t, configFor(server.url, { tls: trusting, user }), { log });
  await client.json(get);
  writeFileSync(file('client.crt'), read('second.crt'));
  await client.json(get);
  writeFileSync(file('client.key'), read('second.key'));
  await client.json(get);
  assert.deepEqual(
    server.requests.map((request) => request.subject),
    ['first', 'first', 'second'],
  );
  assert.match(lines[0]?.message ?? '', /those read before stay in use/);
});

test('a rotated token file is used at once; a missing one leaves the last token in use', async (t) => {
  const server = await scriptedServer(t, [ok, ok, ok]);
  writeFileSync(file('token'), 'one\n');
  const user = { ...ANONYMOUS, token: { kind: 'file', path: file('token') } } as const;
  const { log, lines } = recordingLog();
  const client = clientFor(t, configFor(server.url, { user }), { log });
  await client.json(get);
  writeFileSync(file('token'), 'two\n');
  await client.json(get);
  rmSync(file('token'));
  await client.json(get);
  assert.deepEqual(
    server.requests.map((request) => request.headers.authorization),
    ['Bearer one', 'Bearer two', 'Bearer two'],
  );
  assert.equal(lines.length, 1);
});

test('a 401 is tried once more if the token has changed meanwhile, and reported otherwise', async (t) => {
  writeFileSync(file('token'), 'old');
  const server = await scriptedServer(t, [
    (response, request) => {
      writeFileSync(file('token'), 'new');
      status(401, 'Unauthorized')(response, request);
    },
    ok,
    status(401, 'Unauthorized', 'who are you'),
  ]);
  const user = { ...ANONYMOUS, token: { kind: 'file', path: file('token') } } as const;
  const retried: (string | undefined)[] = [];
  const onRequest = (report: RequestReport) => retried.push(report.retriedAfter);
  const client = clientFor(t, configFor(server.url, { user }), { onRequest });
  assert.deepEqual(await client.json(get), { kind: 'Ok' });
  const error = await failure(client.json(get));
  assert.deepEqual([error.status, error.reason], [401, 'Unauthorized']);
  assert.equal(server.requests.length, 3);
  assert.deepEqual(retried, [undefined, '401', undefined]);
});

test('a credential plugin is run once, again when its token has expired, and again at a 401', async (t) => {
  const script = file('plugin.sh');
  writeFileSync(
    script,
    `#!/bin/sh
echo run >> ${file('runs')}
n=$(wc -l < ${file('runs')})
[ $n = 1 ] && expiry=2001-01-01T00:00:00Z || expiry=2999-01-01T00:00:00Z
cat <<END
{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",
 "status":{"token":"$PREFIX-$n","expirationTimestamp":"$expiry"}}
END
`,
  );
  chmodSync(script, 0o755);
  const kubeconfig = file('exec.conf');
  const server = await scriptedServer(t, [ok, ok, status(401), ok]);
  writeFileSync(
    kubeconfig,
    `current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "${server.url}"}}]
users:
- name: u
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./plugin.sh
      interactiveMode: Never
      env: [{name: PREFIX, value: token}]
`,
  );
  const config = await loadApiConfig({ kubeconfig, master: '', env: {}, log: silentLog });
  const client = clientFor(t, config, { env: process.env });
  await client.json(get);
  await client.json(get);
  await client.json(get);
  assert.deepEqual(
    server.requests.map((request) => request.headers.authorization),
    ['Bearer token-2', 'Bearer token-2', 'Bearer token-2', 'Bearer token-3'],
  );
});

test('a credential plugin that is missing or fails is reported with its own words', async (t) => {
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', args: [], env: {}, cluster: undefined };
  const withPlugin = (command: string, args: string[]): ApiConfig =>
    configFor('http://127.0.0.1:1', {
      user: { ...ANONYMOUS, exec: { ...exec, command, args, installHint: 'install it' } },
    });
  const missing = await failure(clientFor(t, withPlugin('/no/such/plugin', [])).json(get));
  assert.equal(missing.message, 'credential plugin /no/such/plugin: executable /no/such/plugin not found; install it');
  const failing = await failure(clientFor(t, withPlugin('/bin/sh', ['-c', 'echo no login >&2; exit 3'])).json(get));
  assert.equal(failing.message, 'credential plugin /bin/sh: no login');
  const silent = await failure(clientFor(t, withPlugin('/bin/sh', ['-c', 'true'])).json(get));
  assert.equal(silent.code, 'API_CREDENTIALS');
});

test('basic authentication and impersonation are headers', async (t) => {
  const server = await scriptedServer(t, [ok]);
  const user = {
    ...ANONYMOUS,
    basic: { username: 'ann', password: 'pä:ss' },
    impersonation: { 'Impersonate-User': 'bob', 'Impersonate-Group': ['x', 'y'] },
  };
  await clientFor(t, configFor(server.url, { user })).json(get);
  const headers = server.requests[0]?.headers ?? {};
  assert.equal(headers.authorization, `Basic ${Buffer.from('ann:pä:ss').toString('base64')}`);
  assert.equal(headers['impersonate-user'], 'bob');
  assert.equal(headers['impersonate-group'], 'x, y');
});

test('a path in the server URL stays in front of every request', async (t) => {
  const server = await scriptedServer(t, [ok]);
  await clientFor(t, configFor(`${server.url}/k8s/clusters/c-1`)).json({ ...get, query: { a: 'b c' } });
  assert.equal(server.requests[0]?.path, '/k8s/clusters/c-1/version');
  assert.deepEqual(server.requests[0]?.query, { a: 'b c' });
});

test('an error answer becomes an error value with the status, the reason and the time to wait', async (t) => {
  const server = await scriptedServer(t, [
    status(429, 'TooManyRequests', 'slow down', { 'retry-after': '3' }),
    page(503, '<html>\n<b>upstream\n down</b>'),
    page(200, 'hello', 'text/plain'),
    page(200, '{"half": ', 'application/json'),
  ]);
  const client = clientFor(t, configFor(server.url));
  const busy = await failure(client.json(get));
  assert.deepEqual(
    [busy.code, busy.status, busy.reason, busy.retryAfterSeconds],
    ['API_STATUS', 429, 'TooManyRequests', 3],
  );
  assert.equal(busy.message, 'GET /version: the server answered 429 TooManyRequests slow down');
  assert.match((await failure(client.json(get))).message, /503 \(text\/html\) <html> <b>upstream down<\/b>/);
  assert.equal((await failure(client.json(get))).code, 'API_CONTENT');
  assert.match((await failure(client.json(get))).message, /not JSON: \{"half":/);
});

test('a list is asked for in gzip, and half a zipped list is a cut, not a shorter list', async (t) => {
  const text = JSON.stringify({ metadata: { resourceVersion: '7' }, items: [{ name: 'a' }, { name: 'b' }] });
  const zipped =
    (bytes: Buffer, then: 'end' | 'destroy'): Answer =>
    (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      if (then === 'end') response.end(bytes);
      else response.write(bytes, () => setTimeout(() => response.destroy(), 20));
    };
  const whole = gzipSync(text);
  const half = whole.subarray(0, whole.length - 12);
  const server = await scriptedServer(t, [
    zipped(whole, 'end'),
    zipped(half, 'end'),
    zipped(half, 'destroy'),
    zipped(Buffer.from('not gzip'), 'end'),
  ]);
  const client = clientFor(t, configFor(server.url));
  const items: unknown[] = [];
  const { resourceVersion } = await client.list(get, (item) => items.push(item));
  assert.deepEqual([resourceVersion, items], ['7', [{ name: 'a' }, { name: 'b' }]]);
  assert.equal(server.requests[0]?.headers['accept-encoding'], 'gzip');
  assert.equal((await failure(client.list(get, () => {}))).code, 'API_CUT');
  assert.equal((await failure(client.list(get, () => {}))).code, 'API_CUT');
  assert.equal((await failure(client.list(get, () => {}))).code, 'API_CONTENT');
});

test('every request is reported for the metrics, also those without an answer', async (t) => {
  const server = await scriptedServer(t, [ok, status(404)]);
  const reports: RequestReport[] = [];
  const client = clientFor(t, configFor(server.url), { onRequest: (report) => reports.push(report) });
  await client.json(get);
  await failure(client.json({ ...get, method: 'POST', body: {} }));
  await server.stop();
  await failure(client.json(get));
  const host = new URL(server.url).host;
  assert.deepEqual(
    reports.map((report) => [report.method, report.code, report.host, report.requestBytes, report.retriedAfter]),
    [
      ['GET', '200', host, 0, undefined],
      ['POST', '404', host, 2, undefined],
      ['GET', '<error>', host, 0, undefined],
    ],
  );
});

test('an http proxy is asked for a tunnel, with its password', async (t) => {
  const server = await scriptedServer(t, [ok], serverTls);
  const seen: (string | undefined)[] = [];
  const proxy = createHttpServer();
  proxy.on('connect', (request, socket: Socket) => {
    seen.push(request.url, request.headers['proxy-authorization']);
    joinTo(socket, request.url ?? '');
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
  });
  const port = await listening(t, proxy);
  const proxyUrl = `http://ann:secret@127.0.0.1:${port}`;
  const client = clientFor(t, configFor(server.url, { tls: trusting, proxyUrl }));
  assert.deepEqual(await client.json(get), { kind: 'Ok' });
  assert.deepEqual(seen, [new URL(server.url).host, `Basic ${btoa('ann:secret')}`]);
});

test('a proxy that refuses is named, without its password', async (t) => {
  const proxy = createHttpServer();
  proxy.on('connect', (_request, socket) => socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'));
  const port = await listening(t, proxy);
  const config = configFor('https://10.0.0.1:6443', { proxyUrl: `http://ann:secret@127.0.0.1:${port}` });
  const error = await failure(clientFor(t, config).json(get));
  assert.equal(error.code, 'API_UNREACHABLE');
  const answer = 'did not connect us to 10.0.0.1:6443: 407 Proxy Authentication Required';
  assert.equal(error.message, `proxy 127.0.0.1:${port} ${answer}`);
});

test('a socks5 proxy with a password carries TLS too', async (t) => {
  const server = await scriptedServer(t, [ok], serverTls);
  const seen: string[] = [];
  // One message of the protocol per piece, which holds on loopback for a client that waits for each answer.
  const proxy = createServer((socket) => {
    socket.once('data', (greeting) => {
      seen.push(greeting.toString('hex'));
      socket.write(Uint8Array.of(5, 2));
      socket.once('data', (login) => {
        seen.push(login.toString('latin1'));
        socket.write(Uint8Array.of(1, 0));
        socket.once('data', (request) => {
          const address = `${[...request.subarray(4, 8)].join('.')}:${request.readUInt16BE(8)}`;
          seen.push(address);
          joinTo(socket, address);
          socket.write(Uint8Array.of(5, 0, 0, 1, 0, 0, 0, 0, 0, 0));
        });
      });
    });
  });
  const port = await listening(t, proxy);
  const proxyUrl = `socks5://ann:secret@127.0.0.1:${port}`;
  assert.deepEqual(await clientFor(t, configFor(server.url, { tls: trusting, proxyUrl })).json(get), { kind: 'Ok' });
  assert.deepEqual(seen, ['050102', '\x01\x03ann\x06secret', new URL(server.url).host]);
});

test('inside a cluster the service account is used', async (t) => {
  const server = await scriptedServer(t, [ok], serverTls);
  const { hostname, port } = new URL(server.url);
  const env = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
  writeFileSync(file('token'), 'account');
  const sources = { kubeconfig: '', master: '', env, log: silentLog, serviceAccountFolder: folder };
  const config = await loadApiConfig(sources);
  await clientFor(t, config).json(get);
  assert.equal(server.requests[0]?.headers.authorization, 'Bearer account');
});

test('what is missing inside a cluster is said in the words operators know', async () => {
  const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };
  const { log, lines } = recordingLog();
  const load = (more: object): Promise<ApiConfig> =>
    loadApiConfig({ kubeconfig: '', master: '', env, log, serviceAccountFolder: file('none'), ...more });
  assert.equal(
    (await failure(load({ env: {} }))).message,
    'unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined',
  );
  assert.equal((await failure(load({}))).message, `open ${file('none')}/token: no such file or directory`);

  const account = mkdtempSync(join(folder, 'account-'));
  writeFileSync(join(account, 'token'), 'x');
  assert.equal((await load({ serviceAccountFolder: account })).tls.ca, undefined);
  assert.equal(lines.at(-1)?.level, 'error');
});

function joinTo(socket: Socket, address: string): void {
  const [host, port] = address.split(':');
  const onward = connect(Number(port), host ?? '');
  socket.pipe(onward).pipe(socket);
  socket.on('error', () => onward.destroy());
  onward.on('error', () => socket.destroy());
}

async function listening(t: TestContext, server: ReturnType<typeof createServer>): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}
