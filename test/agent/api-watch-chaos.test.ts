// Whatever happens on the way, the store ends up with what the server has. A server with a real history (versions, events,
// forgetting) is changed hundreds of times while every few answers go wrong in a random, seeded way.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { ApiClient } from '../../src/api/client/client.ts';
import { Reflector } from '../../src/api/watch.ts';
import { WatchStore } from '../support/watch-store.ts';
import {
  type Answer,
  bookmark,
  configFor,
  event,
  list,
  object,
  page,
  quickClock,
  recordingLog,
  scriptedServer,
  status,
  until,
} from './api-server.ts';

/** The objects of a cluster and how they came to be. */
class History {
  version = 100;
  readonly objects = new Map<string, { version: number; value: string }>();
  events: { version: number; type: string; name: string; value: string }[] = [];
  forgottenUpTo = 100;
  readonly watchers = new Set<ServerResponse>();

  change(name: string, value: string | undefined): void {
    const known = this.objects.has(name);
    if (value === undefined && !known) return;
    this.version++;
    if (value === undefined) this.objects.delete(name);
    else this.objects.set(name, { version: this.version, value });
    const type = value === undefined ? 'DELETED' : known ? 'MODIFIED' : 'ADDED';
    this.events.push({ version: this.version, type, name, value: value ?? '' });
    for (const watcher of this.watchers) watcher.write(line(event(type, name, String(this.version), value)));
  }

  endWatch(watcher: ServerResponse | undefined): void {
    if (watcher) this.watchers.delete(watcher);
    watcher?.end();
  }

  forget(): void {
    this.events = [];
    this.forgottenUpTo = this.version;
  }

  /** As after a restore from a backup: older versions count again. */
  rewind(): void {
    this.version = Math.floor(this.version / 2);
    this.objects.clear();
    this.forget();
    for (const watcher of this.watchers) watcher.destroy();
  }
}

const line = (frame: object): string => `${JSON.stringify(frame)}\n`;

function honest(history: History, canStream: () => boolean): Answer {
  return (response, request) => {
    const query = Object.fromEntries(new URL(request.url ?? '', 'http://x').searchParams);
    const asked = Number(query.resourceVersion || 0);
    if (asked > history.version && !(query.watch && !query.sendInitialEvents)) {
      return status(504, 'Timeout', 'Too large resource version')(response, request);
    }
    if (!query.watch) return listAll(history)(response, request);
    if (query.sendInitialEvents && !canStream()) return status(422, 'Invalid')(response, request);
    if (!query.sendInitialEvents && asked < history.forgottenUpTo) return status(410, 'Expired')(response, request);

    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    if (query.sendInitialEvents) {
      for (const [name, { version, value }] of history.objects) {
        response.write(line({ type: 'ADDED', object: object(name, String(version), value) }));
      }
      response.write(line(bookmark(String(history.version), true)));
    } else {
      for (const { version, type, name, value } of history.events) {
        if (version > asked) response.write(line(event(type, name, String(version), value)));
      }
    }
    if (asked > history.version) response.write(line(bookmark(String(history.version))));
    history.watchers.add(response);
    response.on('close', () => history.watchers.delete(response));
  };
}

function listAll(history: History): Answer {
  return (response, request) => {
    const items = [...history.objects].map(([name, { version, value }]) => object(name, String(version), value));
    if (items.length === 0) return list([], String(history.version))(response, request);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ metadata: { resourceVersion: String(history.version) }, items }));
  };
}

/** Ways to fail a request. */
const FAULTS: readonly Answer[] = [
  status(500, 'InternalError'),
  status(429, 'TooManyRequests'),
  status(410, 'Expired'),
  status(401, 'Unauthorized'),
  page(502, '<html>bad gateway</html>'),
  page(200, '<html>log in</html>'),
  page(200, '{"type":"ADDED"}\n{"type', 'application/json'),
  (response) => response.destroy(),
  (_response, request) => request.socket.resetAndDestroy(),
  () => {},
];

for (const seed of [1, 2, 3, 4, 5]) {
  test(`after hundreds of changes and faults the store holds what the server has (seed ${seed})`, async (t) => {
    const random = generator(seed);
    const pick = (n: number): number => Math.floor(random() * n);
    const history = new History();
    let isWild = true;
    const answer: Answer = (response, request) => {
      const isFaulty = isWild && pick(3) === 0;
      const next = isFaulty ? FAULTS[pick(FAULTS.length)]! : honest(history, () => pick(2) === 0);
      next(response, request);
      server.say(answer);
    };
    const server = await scriptedServer(t, [answer]);
    const { log, lines } = recordingLog();
    const { clock } = quickClock();
    const mirror = new Map<string, string>();
    const store = new WatchStore<string>(
      (a, b) => a === b,
      (key, value) => (value === undefined ? mirror.delete(key) : mirror.set(key, value)),
    );
    const options = { userAgent: 'test', qps: -1, burst: 1, env: {}, answerLimitMs: 20 };
    const client = new ApiClient(configFor(server.url), options);
    const target = {
      resource: 'services',
      path: '/api/v1/services',
      parse: (raw: unknown) => (raw as { spec: { value: string } }).spec.value,
    };
    const silence = { silenceLimitMs: 50, initialSilenceLimitMs: 30 };
    const reflector = new Reflector({ client, target, handler: store, log, clock, random, ...silence });
    const abort = new AbortController();
    const running = reflector.run(abort.signal);
    t.after(async () => {
      abort.abort();
      await running;
      client.close();
    });

    for (let step = 0; step < 400; step++) {
      const what = pick(100);
      const watcher = [...history.watchers][0];
      if (what < 70) history.change(`s${pick(20)}`, pick(4) === 0 ? undefined : `v${step}`);
      else if (what < 76) watcher?.destroy();
      else if (what < 80) watcher?.write('{"type":"MODIFIED","object":{"metada');
      else if (what < 83) watcher?.write('nonsense\n');
      else if (what < 86) history.endWatch(watcher);
      else if (what < 88) history.forget();
      else if (what < 89) history.rewind();
      else await new Promise((resolve) => setTimeout(resolve, 3));
    }
    isWild = false;
    // Half-written events are still in some streams: a real server would not go on in them either.
    for (const watcher of history.watchers) watcher.destroy();

    const wanted = (): string[] => [...history.objects].map(([name, { value }]) => `shop/${name}=${value}`).sort();
    const held = (items: ReadonlyMap<string, string>): string[] => [...items].map(([k, v]) => `${k}=${v}`).sort();
    const isSame = (): boolean => JSON.stringify(held(store.items)) === JSON.stringify(wanted());
    await until('the store holds what the server has', isSame);
    history.change('last', 'word');
    await until('the watch is live', isSame);
    assert.deepEqual(held(mirror), wanted(), 'the changes that were told add up to the same');
    for (const { values } of lines)
      assert.ok(values.err && values.next, 'each line says what happened and what is next');
  });
}

/** mulberry32: the same numbers for the same seed. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
