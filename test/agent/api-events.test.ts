// Events are sent in the background to a real HTTP server, which also refuses them, forgets them and is away.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ApiClient } from '../../src/api/client/client.ts';
import { EventRecorder, type RecordedEvent } from '../../src/api/events.ts';
import {
  type Answer,
  configFor,
  json,
  quickClock,
  type RecordedLine,
  recordingLog,
  type ScriptedServer,
  scriptedServer,
  status,
} from './api-server.ts';

const started: RecordedEvent = {
  type: 'Normal',
  reason: 'Starting',
  action: 'StartKubeProxy',
  regarding: { apiVersion: 'v1', kind: 'Node', name: 'worker-1' },
  note: '',
};
const ok = json({ kind: 'Event' });

interface Run {
  readonly server: ScriptedServer;
  readonly recorder: EventRecorder;
  readonly lines: RecordedLine[];
  readonly waits: number[];
  /** Time passes. */
  pass(ms: number): Promise<void>;
}

async function recording(t: TestContext, answers: Answer[]): Promise<Run> {
  const server = await scriptedServer(t, answers);
  const { log, lines } = recordingLog();
  const { clock, waits } = quickClock();
  const client = new ApiClient(configFor(server.url), { userAgent: 'test', qps: -1, burst: 1, env: {} });
  t.after(() => client.close());
  const recorder = new EventRecorder({ client, hostname: 'host-a', log, clock });
  return { server, recorder, lines, waits, pass: (ms) => clock.wait(ms) };
}

test('an event is posted in the form kubectl expects', async (t) => {
  const { server, recorder } = await recording(t, [ok]);
  recorder.record(started);
  await recorder.idle();
  const [request] = server.requests;
  assert.equal(request?.method, 'POST');
  assert.equal(request?.path, '/apis/events.k8s.io/v1/namespaces/default/events');
  const nanoseconds = BigInt(Date.UTC(2026, 0, 2, 3, 4, 5, 678)) * 1_000_000n;
  assert.deepEqual(JSON.parse(request?.body ?? ''), {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: `worker-1.${nanoseconds.toString(16)}`, namespace: 'default' },
    eventTime: '2026-01-02T03:04:05.678000Z',
    reportingController: 'kube-proxy',
    reportingInstance: 'kube-proxy-host-a',
    action: 'StartKubeProxy',
    reason: 'Starting',
    regarding: { apiVersion: 'v1', kind: 'Node', name: 'worker-1' },
    note: '',
    type: 'Normal',
  });
});

test('an event about a Service goes to its namespace', async (t) => {
  const { server, recorder } = await recording(t, [ok]);
  const regarding = { apiVersion: 'v1', kind: 'Service', name: 'cart', namespace: 'shop', uid: 'u1' };
  recorder.record({ ...started, regarding, note: 'x'.repeat(3000) });
  await recorder.idle();
  assert.equal(server.requests[0]?.path, '/apis/events.k8s.io/v1/namespaces/shop/events');
  assert.equal(JSON.parse(server.requests[0]?.body ?? '').note.length, 1024);
});

test('a repeat within six minutes patches a series; a later one is a new event', async (t) => {
  const { server, recorder, pass } = await recording(t, [ok, ok, ok]);
  recorder.record(started);
  await recorder.idle();
  await pass(60_000);
  recorder.record(started);
  await recorder.idle();
  await pass(7 * 60_000);
  recorder.record(started);
  await recorder.idle();
  const [first, second, third] = server.requests;
  const name = JSON.parse(first?.body ?? '').metadata.name;
  assert.equal(second?.method, 'PATCH');
  assert.equal(second?.path, `/apis/events.k8s.io/v1/namespaces/default/events/${name}`);
  assert.equal(second?.headers['content-type'], 'application/merge-patch+json');
  assert.deepEqual(JSON.parse(second?.body ?? ''), {
    series: { count: 2, lastObservedTime: '2026-01-02T03:05:05.678000Z' },
  });
  assert.equal(third?.method, 'POST');
  assert.notEqual(JSON.parse(third?.body ?? '').metadata.name, name);
});

test('a series whose event the server has forgotten is posted anew with its count', async (t) => {
  const { server, recorder } = await recording(t, [ok, status(404, 'NotFound'), ok]);
  recorder.record(started);
  await recorder.idle();
  recorder.record(started);
  await recorder.idle();
  assert.deepEqual(
    server.requests.map((request) => request.method),
    ['POST', 'PATCH', 'POST'],
  );
  assert.equal(JSON.parse(server.requests[2]?.body ?? '').series.count, 2);
});

test('a refused event is dropped with one log line, and the next one is sent', async (t) => {
  const { server, recorder, lines, waits } = await recording(t, [status(403, 'Forbidden', 'no'), ok]);
  recorder.record(started);
  recorder.record({ ...started, reason: 'Other' });
  await recorder.idle();
  assert.equal(server.requests.length, 2);
  assert.deepEqual(waits, []);
  assert.equal(lines.length, 1);
});

test('while the server is away an event is tried 12 more times, 10 s apart, and then dropped', async (t) => {
  const { server, recorder, lines, waits } = await recording(t, []);
  await server.stop();
  recorder.record(started);
  await recorder.idle();
  assert.deepEqual(waits, new Array(12).fill(10_000));
  assert.match(String(lines[0]?.values.err), /ECONNREFUSED/);
});

test('a connection cut before the answer is tried again', async (t) => {
  const { server, recorder, lines } = await recording(t, [(response) => response.destroy(), ok]);
  recorder.record(started);
  await recorder.idle();
  assert.equal(server.requests.length, 2);
  assert.deepEqual(lines, []);
});

test('closing gives up quietly', async (t) => {
  const { recorder, lines } = await recording(t, [() => {}]);
  recorder.record(started);
  setTimeout(() => recorder.close(), 20);
  await recorder.idle();
  assert.deepEqual(lines, []);
});
