// The list-watch loop against a server that misbehaves in every way it is known to: after each, the store holds what the
// server said last, and the log has one line about it.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ApiClient } from '../../src/api/client/client.ts';
import { Reflector, type WatchTarget } from '../../src/api/watch.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { WatchStore } from '../support/watch-store.ts';
import {
  type Answer,
  bookmark,
  configFor,
  event,
  events,
  list,
  page,
  quickClock,
  type RecordedLine,
  recordingLog,
  type ScriptedServer,
  scriptedServer,
  status,
  until,
} from './api-server.ts';

const services: WatchTarget<string> = {
  resource: 'services',
  path: '/api/v1/services',
  labelSelector: '!service.kubernetes.io/service-proxy-name',
  fieldSelector: 'spec.clusterIP!=None',
  parse: (raw) => {
    const { metadata, spec } = raw as { metadata: { name: string }; spec: { value: string } };
    return spec.value === 'ignored' ? undefined : `${metadata.name}${spec.value}`;
  },
};

interface Run {
  readonly server: ScriptedServer;
  readonly store: WatchStore<string>;
  /** `+a` added, `~a` changed, `-a` gone, `=` a full read. */
  readonly told: string[];
  readonly lines: RecordedLine[];
  readonly waits: number[];
  readonly clock: Clock;
  readonly reflector: Reflector<string>;
  stop(): Promise<void>;
}

interface Settings {
  readonly silenceLimitMs?: number;
  readonly initialSilenceLimitMs?: number;
  readonly answerLimitMs?: number;
  readonly streamsInitialState?: boolean;
}

async function watching(t: TestContext, answers: Answer[], settings: Settings = {}): Promise<Run> {
  const server = await scriptedServer(t, answers);
  const { log, lines } = recordingLog();
  const { clock, waits } = quickClock();
  const told: string[] = [];
  const store = new WatchStore<string>(
    (a, b) => a === b,
    (_key, value, previous) =>
      told.push(value === undefined ? `-${previous}` : `${previous === undefined ? '+' : '~'}${value}`),
    () => told.push('='),
  );
  const client = new ApiClient(configFor(server.url), {
    userAgent: 'test',
    qps: -1,
    burst: 1,
    env: {},
    ...(settings.answerLimitMs ? { answerLimitMs: settings.answerLimitMs } : {}),
  });
  const options = { client, target: services, handler: store, log, clock, random: () => 0.5, ...settings };
  const reflector = new Reflector(options);
  const abort = new AbortController();
  const running = reflector.run(abort.signal);
  const stop = async (): Promise<void> => {
    abort.abort();
    await running;
    client.close();
  };
  t.after(stop);
  return { server, store, told, lines, waits, clock, reflector, stop };
}

/** The script was played and the loop is in a healthy watch after it. */
async function settled({ server, reflector }: Run, requests: number): Promise<void> {
  await until('the script is over and a watch stands', () => {
    return server.pending === 0 && server.requests.length === requests && reflector.status.isConnected;
  });
}

function values(run: Run): string[] {
  return [...run.store.items.values()].sort();
}

const INITIAL = events([event('ADDED', 'a', '5'), event('ADDED', 'b', '3'), bookmark('10', true)], 'stay');

test('the initial state is streamed, replaced in one step, and the same stream goes on', async (t) => {
  const run = await watching(t, [
    events(
      [
        event('ADDED', 'a', '5'),
        event('ADDED', 'b', '3'),
        bookmark('10', true),
        event('MODIFIED', 'a', '11', '!'),
        event('DELETED', 'b', '12'),
        event('ADDED', 'c', '13'),
        event('MODIFIED', 'c', '14', 'ignored'),
        bookmark('20'),
      ],
      'stay',
    ),
  ]);
  await until('the bookmark was read', () => run.reflector.status.version === '20');
  assert.deepEqual(run.told, ['+a', '+b', '=', '~a!', '-b', '+c', '-c']);
  assert.deepEqual(values(run), ['a!']);
  assert.deepEqual(run.reflector.status.isSynced, true);
  assert.deepEqual(run.server.requests[0]?.query, {
    watch: 'true',
    allowWatchBookmarks: 'true',
    sendInitialEvents: 'true',
    resourceVersionMatch: 'NotOlderThan',
    resourceVersion: '',
    timeoutSeconds: '450',
    labelSelector: '!service.kubernetes.io/service-proxy-name',
    fieldSelector: 'spec.clusterIP!=None',
  });
  assert.deepEqual(run.lines, []);
});

test('a stream that ends is opened again at once from the last version, without a list', async (t) => {
  const run = await watching(t, [
    events([event('ADDED', 'a', '5'), bookmark('10', true), bookmark('15')], 'end'),
    events([event('ADDED', 'b', '16')], 'end'),
  ]);
  await settled(run, 3);
  assert.deepEqual(values(run), ['a', 'b']);
  assert.equal(run.server.requests[1]?.query.resourceVersion, '15');
  assert.equal(run.server.requests[1]?.query.sendInitialEvents, undefined);
  assert.equal(run.server.requests[2]?.query.resourceVersion, '16');
  assert.deepEqual(run.waits, []);
  assert.deepEqual(run.lines, []);
});

test('a server that refuses streamed lists is asked with LIST in pages, then watched', async (t) => {
  const run = await watching(t, [
    status(422, 'Invalid', 'sendInitialEvents is forbidden'),
    list(['a', 'b'], '30', 'page-2'),
    list(['c'], '30'),
  ]);
  await settled(run, 4);
  assert.deepEqual(values(run), ['a', 'b', 'c']);
  assert.deepEqual(run.told, ['+a', '+b', '+c', '=']);
  const [, first, second, watch] = run.server.requests.map((request) => request.query);
  assert.deepEqual([first?.resourceVersion, first?.limit, first?.continue], ['0', '500', undefined]);
  assert.deepEqual([second?.resourceVersion, second?.limit, second?.continue], [undefined, '500', 'page-2']);
  assert.deepEqual([watch?.resourceVersion, watch?.watch], ['30', 'true']);
  assert.deepEqual(run.waits, []);
  assert.equal(run.lines.length, 1);
});

test('a page that expired while we read makes us ask for everything at once', async (t) => {
  const run = await watching(t, [
    status(400, 'BadRequest'),
    list(['a', 'old'], '30', 'page-2'),
    status(410, 'Expired', 'the provided continue parameter is too old'),
    list(['a', 'b'], '31'),
  ]);
  await settled(run, 5);
  assert.deepEqual(values(run), ['a', 'b']);
  assert.deepEqual(run.server.requests[3]?.query.limit, undefined);
});

test('without streamed lists everything is read with LIST, also again after a failure', async (t) => {
  const answers = [list(['a'], '30'), status(410, 'Expired', 'too old resource version'), list(['a', 'b'], '40')];
  const run = await watching(t, answers, { streamsInitialState: false });
  await settled(run, 4);
  assert.deepEqual(values(run), ['a', 'b']);
  const asked = run.server.requests.map(({ query }) => [query.watch, query.resourceVersion, query.sendInitialEvents]);
  assert.deepEqual(asked, [
    [undefined, '0', undefined],
    ['true', '30', undefined],
    [undefined, '30', undefined],
    ['true', '40', undefined],
  ]);
});

test('a server that ignores the wish for initial events is asked with LIST', async (t) => {
  const run = await watching(t, [events([event('ADDED', 'a', '5')], 'stay'), list(['a', 'b'], '30')], {
    initialSilenceLimitMs: 50,
  });
  await settled(run, 3);
  assert.deepEqual(values(run), ['a', 'b']);
  assert.match(String(run.lines[0]?.values.err), /nothing came for 0.05 s/);
  assert.equal(run.lines[0]?.values.next, 'read everything with LIST now');
});

test('after a relist only the differences are told, and what vanished is gone', async (t) => {
  const run = await watching(t, [
    events([event('ADDED', 'a', '5'), event('ADDED', 'b', '3'), bookmark('10', true), bookmark('11')], 'end'),
    status(410, 'Expired', 'too old resource version'),
    events([event('ADDED', 'a', '5'), event('ADDED', 'c', '40'), bookmark('50', true)], 'stay'),
  ]);
  await until('the relist came through', () => run.told.filter((line) => line === '=').length === 2);
  assert.deepEqual(run.told, ['+a', '+b', '=', '-b', '+c', '=']);
  assert.equal(run.server.requests[2]?.query.sendInitialEvents, 'true');
  assert.equal(run.server.requests[2]?.query.resourceVersion, '11');
  assert.equal(run.lines.length, 1);
  assert.match(String(run.lines[0]?.values.err), /410 Expired too old resource version/);
});

test('410 as an event inside the stream leads to a relist; a refused version is dropped', async (t) => {
  const gone = { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' } };
  const run = await watching(t, [
    events([event('ADDED', 'a', '5'), bookmark('10', true), gone], 'stay'),
    status(410, 'Expired'),
    events([event('ADDED', 'b', '2'), bookmark('3', true)], 'stay'),
  ]);
  await until('the relist came through', () => run.told.filter((line) => line === '=').length === 2);
  assert.deepEqual(values(run), ['b']);
  assert.equal(run.server.requests[1]?.query.resourceVersion, '10');
  assert.equal(run.server.requests[2]?.query.resourceVersion, '');
});

test('a version the server calls too large is dropped, also with LIST', async (t) => {
  const tooLarge = status(504, 'Timeout', 'Too large resource version: 10, current: 3');
  const run = await watching(t, [
    events([event('ADDED', 'a', '5'), bookmark('10', true)], 'end'),
    status(500),
    status(422, 'Invalid'),
    tooLarge,
    list(['b'], '3'),
  ]);
  await settled(run, 6);
  assert.deepEqual(values(run), ['b']);
  assert.equal(run.server.requests[3]?.query.resourceVersion, '10');
  assert.equal(run.server.requests[3]?.query.limit, undefined);
  assert.deepEqual([run.server.requests[4]?.query.resourceVersion, run.server.requests[4]?.query.limit], ['', '500']);
});

test('a server with a new, shorter history is noticed by its bookmarks', async (t) => {
  const run = await watching(t, [
    events([event('ADDED', 'a', '5'), bookmark('1000', true)], 'end'),
    events([bookmark('7')], 'stay'),
    events([event('ADDED', 'b', '6'), bookmark('8', true)], 'stay'),
  ]);
  await until('the new history was read', () => run.reflector.status.version === '8');
  assert.deepEqual(values(run), ['b']);
  assert.equal(run.server.requests[2]?.query.resourceVersion, '');
  assert.match(String(run.lines[0]?.values.err), /went back from version 1000 to 7/);
});

test('a connection cut in the middle of an event loses nothing: the event comes again', async (t) => {
  const half = JSON.stringify(event('ADDED', 'c', '12')).slice(0, 30);
  const run = await watching(t, [
    events([event('ADDED', 'a', '5'), bookmark('10', true), event('ADDED', 'b', '11'), half], 'cut'),
    events([event('ADDED', 'c', '12')], 'stay'),
  ]);
  await until('c is there', () => values(run).length === 3);
  assert.equal(run.server.requests[1]?.query.resourceVersion, '11');
  assert.deepEqual(run.told, ['+a', '=', '+b', '+c']);
  assert.equal(run.lines.length, 1);
  assert.equal(run.lines[0]?.values.next, 'watch again from version 11 now; what is known stays in force');
});

test('a stream that ends cleanly with half a document is treated like a cut', async (t) => {
  const run = await watching(t, [
    events([event('ADDED', 'a', '5'), bookmark('10', true), '{"type":"ADDED","object":{"kin'], 'end'),
    events([event('ADDED', 'b', '11')], 'stay'),
  ]);
  await until('b is there', () => values(run).length === 2);
  assert.match(String(run.lines[0]?.values.err), /middle of an event/);
});

for (const [what, frame] of [
  ['a line that is not JSON', 'this is not JSON\n'],
  ['half a document with a line end', '{"type":"MODIFIED","object":{"metadata":\n'],
  ['an event without an object', '{"type":"ADDED"}\n'],
  ['an event of an unknown type', '{"type":"RENAMED","object":{"metadata":{"name":"x","resourceVersion":"12"}}}\n'],
  ['JSON that is no event', '[]\n'],
  ['null', 'null\n'],
] as const) {
  test(`${what} gives one log line and a fresh read`, async (t) => {
    const run = await watching(t, [
      events([event('ADDED', 'a', '5'), bookmark('10', true), frame], 'stay'),
      events([event('ADDED', 'b', '11'), bookmark('12', true)], 'stay'),
    ]);
    await until('everything was read again', () => run.reflector.status.version === '12');
    assert.deepEqual(values(run), ['b']);
    assert.deepEqual(
      run.lines.map((line) => line.message),
      ['Failed to watch'],
    );
    assert.deepEqual(run.waits, [1200]);
  });
}

test('a proxy that answers a watch with a page is reported with the start of the page', async (t) => {
  const run = await watching(t, [
    events([event('ADDED', 'a', '5'), bookmark('10', true)], 'end'),
    page(200, '<html><body>Please log in</body></html>'),
    page(502, '<html><h1>Bad Gateway</h1></html>'),
    INITIAL,
  ]);
  await until('everything was read again', () => values(run).length === 2);
  assert.match(String(run.lines[0]?.values.err), /text\/html instead of JSON: <html><body>Please log in/);
  assert.match(String(run.lines[1]?.values.err), /502 \(text\/html\) <html><h1>Bad Gateway/);
  assert.deepEqual(run.waits, [1200, 2400]);
});

test('a silent watch is opened again from the same version', async (t) => {
  const run = await watching(t, [INITIAL, events([event('ADDED', 'c', '11')], 'stay')], { silenceLimitMs: 60 });
  await until('c is there', () => values(run).includes('c'));
  assert.equal(run.server.requests[1]?.query.resourceVersion, '10');
  assert.match(String(run.lines[0]?.values.err), /the connection stands, but nothing came for 0.06 s/);
});

test('a server that takes the request and never answers is given up after a while', async (t) => {
  const run = await watching(t, [() => {}, INITIAL], { answerLimitMs: 50 });
  await until('the state is there', () => values(run).length === 2);
  assert.match(String(run.lines[0]?.values.err), /cannot be reached: no answer within 0.05 s/);
});

test('429 waits as long as the server asks, then watches from the same version', async (t) => {
  const run = await watching(t, [
    events([event('ADDED', 'a', '5'), bookmark('10', true)], 'end'),
    status(429, 'TooManyRequests', 'too many requests', { 'retry-after': '7' }),
    events([event('ADDED', 'b', '11')], 'stay'),
  ]);
  await until('b is there', () => values(run).length === 2);
  assert.equal(run.server.requests[2]?.query.resourceVersion, '10');
  assert.deepEqual(run.waits, [7000]);
});

test('waits double up to half a minute and are spread at random', async (t) => {
  const run = await watching(t, [...Array.from({ length: 8 }, () => status(500, 'InternalError')), INITIAL]);
  await until('the state is there', () => values(run).length === 2);
  assert.deepEqual(run.waits, [1200, 2400, 4800, 9600, 19200, 38400, 45000, 45000]);
  assert.equal(run.lines.length, 8);
});

test('a watch that ends within a second and without an event counts as an error', async (t) => {
  const run = await watching(t, [
    events([event('ADDED', 'a', '5'), bookmark('10', true)], 'end'),
    events([], 'end'),
    INITIAL,
  ]);
  await until('everything was read again', () => values(run).length === 2);
  assert.deepEqual(run.waits, [1200]);
  assert.match(String(run.lines[0]?.values.err), /very short watch/);
  assert.equal(run.server.requests[2]?.query.sendInitialEvents, 'true');
});

test('a stream cut before the initial state is complete changes nothing and leads to LIST', async (t) => {
  const run = await watching(t, [
    events([event('ADDED', 'a', '5'), bookmark('10', true)], 'end'),
    status(410, 'Expired'),
    events([event('ADDED', 'x', '9')], 'cut'),
    list(['a', 'b'], '30'),
  ]);
  await settled(run, 5);
  assert.deepEqual(run.told, ['+a', '=', '+b', '=']);
});

test('a list cut in the middle changes nothing, and everything is read again', async (t) => {
  const cutList: Answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const half =
      '{"kind":"ServiceList","items":[{"metadata":{"name":"x","namespace":"shop","resourceVersion":"1"},"spec":{}}';
    response.write(half, () => setTimeout(() => response.destroy(), 20));
  };
  const run = await watching(t, [status(422, 'Invalid'), cutList, INITIAL]);
  await until('the state is there', () => values(run).length === 2);
  assert.deepEqual(run.told, ['+a', '+b', '=']);
  assert.match(String(run.lines[1]?.values.err), /ended in the middle of the answer/);
});

test('while the server is gone all stays as it was; when it is back, the watch goes on from the same version', async (t) => {
  const run = await watching(t, [INITIAL]);
  await until('the state is there', () => values(run).length === 2);
  await run.server.stop();
  await until('several attempts failed', () => run.waits.length >= 3);
  assert.equal(run.reflector.status.isConnected, false);
  assert.deepEqual(values(run), ['a', 'b']);
  assert.match(String(run.lines.at(-1)?.values.err), /ECONNREFUSED/);
  assert.match(String(run.lines.at(-1)?.values.next), /^watch again from version 10 in .* s; what is known stays/);
  run.server.say(events([event('ADDED', 'c', '11')], 'stay'));
  await run.server.restart();
  await until('c is there', () => values(run).length === 3);
  assert.equal(run.server.requests.at(-1)?.query.sendInitialEvents, undefined);
});

test('a stream that is cut was good until then; of one that fell silent nobody knows since when', async (t) => {
  const cut = await watching(t, [INITIAL]);
  await until('the state is there', () => values(cut).length === 2);
  await cut.clock.wait(40_000);
  await cut.server.stop();
  await until('an attempt failed', () => cut.waits.length >= 2);
  assert.equal(cut.reflector.status.lastContact, 40_000);

  const nothing: Answer = () => {};
  const script = [INITIAL, status(503, 'ServiceUnavailable'), nothing];
  const silent = await watching(t, script, { silenceLimitMs: 100 });
  await until('the state is there', () => values(silent).length === 2);
  const { lastContact } = silent.reflector.status;
  await silent.clock.wait(40_000);
  await until('an attempt failed', () => silent.waits.length >= 2);
  assert.equal(silent.reflector.status.lastContact, lastContact);
});

test('many events in one piece and one event in many pieces are the same to us', async (t) => {
  const text = [event('ADDED', 'ä', '5'), event('ADDED', 'b', '6'), bookmark('10', true)]
    .map((frame) => `${JSON.stringify(frame)}\n`)
    .join('');
  const bytewise: Answer = async (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    for (const byte of Buffer.from(text)) {
      response.write(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const run = await watching(t, [bytewise]);
  await until('the state is there', () => values(run).length === 2);
  assert.deepEqual(values(run), ['b', 'ä']);
});

test('an aborted watch ends quietly', async (t) => {
  const run = await watching(t, [INITIAL]);
  await until('the state is there', () => values(run).length === 2);
  await run.stop();
  assert.deepEqual(run.lines, []);
});
