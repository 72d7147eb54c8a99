// The metrics server over real HTTP: every path, what it negotiates, and what switches it on.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { type MetricsSources, startMetricsServer } from '../../src/observe/http-servers.ts';
import { ask } from './http-ask.ts';
import { registryWithEverything } from './metrics-all.ts';

const STARTED = Date.parse('2026-03-02T09:00:00.25Z');
const NOW = STARTED + 309_500;
const TEXT = 'text/plain; charset=utf-8';

function sources(changes: Partial<MetricsSources> = {}): MetricsSources {
  return {
    registry: registryWithEverything('iptables'),
    modeName: 'iptables',
    config: () => ({ kind: 'KubeProxyConfiguration', apiVersion: 'kubeproxy.config.k8s.io/v1alpha1', mode: '' }),
    flags: () => ({ v: '2', 'cluster-cidr': '10.0.0.0/8', config: '' }),
    status: () => ({
      startedAt: STARTED,
      goVersion: 'node24.21.0',
      binaryVersion: '1.36.4',
      emulationVersion: '1.36',
    }),
    wallNow: () => NOW,
    ...changes,
  };
}

async function serve(t: TestContext, given = sources(), bindAddress = '127.0.0.1:0'): Promise<number> {
  let server: ReturnType<typeof startMetricsServer> | undefined;
  t.after(() => server?.close());
  return new Promise((resolve, reject) => {
    server = startMetricsServer(given, {
      bindAddress,
      isHardFail: true,
      onRetry: reject,
      onFatal: reject,
      onPageError: reject,
      onListening: ({ port }) => resolve(port),
    });
  });
}

function accepting(accept: string) {
  return { headers: { Accept: accept } };
}

test('/healthz of the metrics server is always ok, and tells its one check when asked', async (t) => {
  const port = await serve(t);
  const cases = {
    '/healthz': 'ok',
    '/healthz/ping': 'ok',
    '/healthz?exclude=ping': 'ok',
    '/healthz?verbose': '[+]ping ok\nhealthz check passed\n',
    '/healthz?verbose&exclude=ping': '[+]ping excluded: ok\nhealthz check passed\n',
  };
  for (const [path, expected] of Object.entries(cases)) {
    const { status, headers, body } = await ask(port, path);
    assert.deepEqual(
      [status, headers['content-type'], headers['x-content-type-options'], body],
      [200, TEXT, 'nosniff', expected],
    );
  }
});

test('/proxyMode is the name of the mode and nothing else', async (t) => {
  const { status, headers, body } = await ask(await serve(t), '/proxyMode');
  assert.deepEqual(
    [status, headers['content-type'], headers['x-content-type-options'], body],
    [200, TEXT, 'nosniff', 'iptables'],
  );
});

test('/configz is the document under its group', async (t) => {
  const { status, headers, body } = await ask(await serve(t), '/configz');
  assert.deepEqual(
    [status, headers['content-type'], headers['x-content-type-options']],
    [200, 'application/json', 'nosniff'],
  );
  assert.equal(
    body,
    '{"kubeproxy.config.k8s.io":{"kind":"KubeProxyConfiguration","apiVersion":"kubeproxy.config.k8s.io/v1alpha1","mode":""}}',
  );
});

test('/metrics is text unless OpenMetrics is preferred, and is compressed for those who can read it', async (t) => {
  const port = await serve(t);
  const text = await ask(port, '/metrics');
  assert.equal(text.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  assert.match(text.body, /^# TYPE kubeproxy_conntrack_reconciler_deleted_entries_total counter$/m);
  assert.match(text.body, /^kubeproxy_conntrack_reconciler_deleted_entries_total\{ip_family="IPv4"\} 7$/m);
  assert.match(text.body, /^kubeproxy_network_programming_duration_seconds_bucket\{ip_family="IPv4",le="60"\} 0$/m);
  assert.match(text.body, /^kubeproxy_network_programming_duration_seconds_bucket\{ip_family="IPv4",le="65"\} 1$/m);
  assert.match(text.body, /^kubeproxy_network_programming_duration_seconds_bucket\{ip_family="IPv4",le="\+Inf"\} 1$/m);

  const scraper =
    'application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2';
  const open = await ask(port, '/metrics', accepting(scraper));
  assert.equal(open.headers['content-type'], 'application/openmetrics-text; version=1.0.0; charset=utf-8');
  assert.match(open.body, /^# TYPE kubeproxy_conntrack_reconciler_deleted_entries counter$/m);
  assert.match(open.body, /^kubeproxy_conntrack_reconciler_deleted_entries_total\{ip_family="IPv4"\} 7.0$/m);
  assert.match(open.body, /le="60.0"\} 0$/m);
  assert.match(open.body, /\n# EOF\n$/);

  const packed = await ask(port, '/metrics', { headers: { 'Accept-Encoding': 'gzip' } });
  assert.equal(packed.headers['content-encoding'], 'gzip');
  assert.match(gunzipSync(packed.bytes).toString(), /^# HELP kubeproxy_/);
});

test('/metrics/slis counts the health checks made, and DELETE forgets them', async (t) => {
  const port = await serve(t);
  await ask(port, '/healthz');
  await ask(port, '/healthz');
  await ask(port, '/healthz?exclude=ping');
  const { body } = await ask(port, '/metrics/slis');
  assert.match(body, /^kubernetes_healthcheck\{name="ping",type="healthz"\} 1$/m);
  assert.match(body, /^kubernetes_healthchecks_total\{name="ping",status="success",type="healthz"\} 2$/m);
  assert.match(body, /^process_start_time_seconds \d/m);
  const reset = await ask(port, '/metrics/slis', { method: 'DELETE' });
  assert.deepEqual([reset.status, reset.body], [200, 'metrics reset\n']);
  assert.doesNotMatch((await ask(port, '/metrics/slis')).body, /kubernetes_healthcheck/);
});

test('/flagz is text for people: a warning, then the flags by name with one separator', async (t) => {
  const port = await serve(t);
  for (const options of [{}, accepting('*/*'), accepting('text/plain'), accepting('text/html,*/*;q=0.8')]) {
    const { status, headers, body } = await ask(port, '/flagz', options);
    assert.deepEqual([status, headers['content-type']], [200, TEXT]);
    const head =
      '\nkube-proxy flagz\nWarning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.\n';
    assert.ok(body.startsWith(head));
    const separator = /^cluster-cidr(:|: |=| )10\.0\.0\.0\/8$/m.exec(body)?.[1];
    assert.equal(body.slice(head.length), `cluster-cidr${separator}10.0.0.0/8\nconfig${separator}\nv${separator}2\n`);
  }
});

test('/flagz and /statusz are versioned objects for programs that name them exactly', async (t) => {
  const port = await serve(t);
  const flagz = await ask(port, '/flagz', accepting('application/json;as=Flagz;v=v1beta1;g=config.k8s.io'));
  assert.deepEqual(
    [flagz.status, flagz.headers['content-type'], flagz.headers.warning],
    [200, 'application/json', undefined],
  );
  assert.equal(
    flagz.body,
    '{"kind":"Flagz","apiVersion":"config.k8s.io/v1beta1","metadata":{"name":"kube-proxy"},' +
      '"flags":{"cluster-cidr":"10.0.0.0/8","config":"","v":"2"}}',
  );

  const statusz = await ask(port, '/statusz', accepting('application/yaml;as=Statusz;v=v1beta1;g=config.k8s.io'));
  assert.equal(statusz.headers['content-type'], 'application/yaml');
  assert.deepEqual(parse(statusz.body), {
    kind: 'Statusz',
    apiVersion: 'config.k8s.io/v1beta1',
    metadata: { name: 'kube-proxy' },
    startTime: '2026-03-02T09:00:00.25Z',
    uptimeSeconds: 309,
    goVersion: 'node24.21.0',
    binaryVersion: '1.36.4',
    emulationVersion: '1.36',
    paths: ['/configz', '/flagz', '/healthz', '/metrics', '/proxyMode'],
  });

  const old = await ask(port, '/statusz', accepting('application/json;as=Statusz;v=v1alpha1;g=config.k8s.io'));
  assert.equal(JSON.parse(old.body).apiVersion, 'config.k8s.io/v1alpha1');
  assert.match(String(old.headers.warning), /^299 - .*deprecated/);
});

test('what /flagz and /statusz cannot be is not acceptable', async (t) => {
  const port = await serve(t);
  for (const accept of [
    'application/json',
    'application/json;as=Flagz;v=v1;g=config.k8s.io',
    'application/json;as=Other;v=v1beta1;g=config.k8s.io',
    'text/html',
    'text/plain;q=0',
  ]) {
    assert.equal((await ask(port, '/flagz', accepting(accept))).status, 406, accept);
    assert.equal((await ask(port, '/statusz', accepting(accept))).status, 406, accept);
  }
});

test('/statusz as text tells start, uptime, versions and paths', async (t) => {
  const { body } = await ask(await serve(t), '/statusz');
  assert.match(body, /^\nkube-proxy statusz\nWarning: /);
  const lines = body.split('\n').slice(3, -1);
  const expected = [
    /^Started(:|: |=| )2026-03-02T09:00:00.25Z$/,
    /^Up(:|: |=| )0 hr 05 min 09 sec$/,
    /^Go version(:|: |=| )node24.21.0$/,
    /^Binary version(:|: |=| )1.36.4$/,
    /^Emulation version(:|: |=| )1.36$/,
    /^Paths(:|: |=| )\/configz \/flagz \/healthz \/metrics \/proxyMode$/,
  ];
  assert.equal(lines.length, expected.length);
  for (const [i, line] of lines.entries()) assert.match(line, expected[i]!);
});

test('with their gates off, /flagz and /statusz do not exist', async (t) => {
  const { flags: _, status: __, ...bare } = sources();
  const port = await serve(t, bare);
  assert.equal((await ask(port, '/flagz')).status, 404);
  assert.equal((await ask(port, '/statusz')).status, 404);
});

test('an unknown path is not found, and without profiling so is everything under /debug', async (t) => {
  const port = await serve(t);
  for (const path of ['/', '/livez', '/healthz/', '/debug/pprof', '/debug/pprof/', '/debug/flags', '/debug/flags/v']) {
    const { status, headers, body } = await ask(port, path);
    assert.deepEqual([status, headers['content-type'], body], [404, TEXT, '404 page not found\n'], path);
  }
});

test('/debug/flags/v sets the verbosity, and refuses what is no number and what is no PUT', async (t) => {
  const levels: number[] = [];
  const port = await serve(t, sources({ setVerbosity: (level) => levels.push(level) }));
  const put = (body: string) => ask(port, '/debug/flags/v', { method: 'PUT', body });

  const five = await put('5');
  assert.deepEqual([five.status, five.body], [200, 'successfully set klog.logging.verbosity to 5\n']);
  assert.deepEqual([five.headers['content-type'], five.headers['x-content-type-options']], ['text/plain', 'nosniff']);
  for (const [body, reason] of [
    ['many', /parsing "many": invalid syntax\n$/],
    ['', /parsing "": invalid syntax\n$/],
    ['2147483648', /parsing "2147483648": value out of range\n$/],
  ] as const) {
    const bad = await put(body);
    assert.equal(bad.status, 400);
    assert.match(bad.body, reason);
  }
  const get = await ask(port, '/debug/flags/v');
  assert.deepEqual([get.status, get.body], [406, 'unsupported http method\n']);
  assert.deepEqual(levels, [5]);

  for (const path of ['/debug/flags', '/debug/flags/']) {
    const listing = await ask(port, path);
    assert.deepEqual([listing.status, listing.headers['content-type']], [200, 'text/html; charset=utf-8']);
    assert.match(listing.body, /<a href="\/debug\/flags\/v">v<\/a>/);
  }
});

test('/debug/pprof has an index, and profiles that developer tools can open', async (t) => {
  const port = await serve(t, sources({ setVerbosity: () => {} }));
  const bare = await ask(port, '/debug/pprof');
  assert.deepEqual([bare.status, bare.headers.location], [302, '/debug/pprof/']);
  assert.match((await ask(port, '/debug/pprof/')).body, /^profile\?seconds=30/m);

  const cpu = await ask(port, '/debug/pprof/profile?seconds=0.05');
  assert.equal(cpu.status, 200);
  assert.ok(Array.isArray(JSON.parse(cpu.body).nodes));
  assert.ok(JSON.parse((await ask(port, '/debug/pprof/allocs?seconds=0.05')).body).head);
  assert.match((await ask(port, '/debug/pprof/heap')).body.slice(0, 200), /^\{"snapshot":\{"meta":/);
  assert.equal((await ask(port, '/debug/pprof/cmdline')).body, process.argv.join('\0'));

  assert.equal((await ask(port, '/debug/pprof/profile?seconds=soon')).status, 400);
  const unknown = await ask(port, '/debug/pprof/goroutine');
  assert.deepEqual([unknown.status, unknown.body], [404, 'Unknown profile\n']);
});

test('a second CPU profile is refused while one is being taken', async (t) => {
  const port = await serve(t, sources({ setVerbosity: () => {} }));
  const both = await Promise.all([1, 2].map(() => ask(port, '/debug/pprof/profile?seconds=0.3')));
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 500]);
});

test('a page that fails is an internal error, told to the log, and the server goes on', async (t) => {
  let server: ReturnType<typeof startMetricsServer> | undefined;
  t.after(() => server?.close());
  const told: unknown[] = [];
  const broken = sources({
    config: () => {
      throw new Error('no document');
    },
  });
  const port = await new Promise<number>((resolve, reject) => {
    server = startMetricsServer(broken, {
      bindAddress: '127.0.0.1:0',
      isHardFail: true,
      onRetry: reject,
      onFatal: reject,
      onPageError: (error) => told.push(error),
      onListening: (address) => resolve(address.port),
    });
  });
  assert.equal((await ask(port, '/configz')).status, 500);
  assert.match(String(told[0]), /no document/);
  assert.equal((await ask(port, '/proxyMode')).status, 200);
});

test('with hard failure a port that is taken is fatal', async (t) => {
  const squatter = createServer();
  t.after(() => squatter.close());
  await new Promise<void>((resolve) => squatter.listen(0, '127.0.0.1', resolve));
  const { port } = squatter.address() as { port: number };
  await assert.rejects(serve(t, sources(), `127.0.0.1:${port}`), {
    message: `starting metrics server failed: listen tcp 127.0.0.1:${port}: bind: address already in use`,
  });
});
