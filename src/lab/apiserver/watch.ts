// watch: a stream of changes, from a version the client knows or from the present state on.
import type { ServerResponse } from 'node:http';
import type { Faults } from './faults.ts';
import { matching, parseVersion, reachVersion, renderOptions, selectorText } from './read.ts';
import { type EventType, renderBookmark, renderEvent, renderOne } from './render.ts';
import type { ApiRequest } from './request.ts';
import { objectPredicate, type Predicate } from './selectors.ts';
import { ApiError, expired, type FieldError, statusOf } from './status.ts';
import { type Change, Stored } from './store.ts';
import type { World } from './world.ts';

/** A client that reads slower than this much behind is cut off, so that it cannot fill our memory. */
const MAX_BACKLOG_BYTES = 256 << 20;

export interface WatchSettings {
  readonly faults: Faults;
  readonly bookmarkIntervalMs: number;
  readonly streams: Set<WatchStream>;
}

export interface WatchStream {
  readonly resource: string;
  /** Sends an error as an event, and ends. */
  fail(error: ApiError): void;
  /** Sends what a stall held back. */
  flush(): void;
  bookmark(): void;
}

export async function serveWatch(
  world: World,
  settings: WatchSettings,
  request: ApiRequest,
  response: ServerResponse,
): Promise<void> {
  const { resource, query } = request;
  const version = parseVersion(query.get('resourceVersion'));
  const initial = query.get('sendInitialEvents');
  requireSoundOptions(query);
  const selects = selection(request);
  if (initial === 'true') await reachVersion(world.store, version);

  response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache, private' });
  response.flushHeaders();
  const stream = openStream(world, settings, request, response);

  const wantsState = initial === 'true' || (initial === null && version === 0);
  const missed = wantsState || version === 0 ? [] : world.store.changesSince(resource.storage, version);
  if ('oldest' in missed) {
    const gone = expired(`too old resource version: ${version} (${missed.oldest})`);
    stream.fail(gone);
    return;
  }
  response.cork(); // what there is goes out in large pieces, not one packet per object
  if (wantsState) {
    for (const stored of matching(world.store.list(resource.storage), request)) stream.event('ADDED', stored);
  }
  if (initial === 'true') stream.bookmark(true);
  const pass = (change: Change) => {
    const seen = changeAsSeen(change, selects);
    if (seen) stream.event(seen.type, seen.stored);
  };
  for (const change of missed) pass(change);
  response.uncork();
  // A version from another history may be ahead of ours: such a client hears nothing until we have passed it.
  stream.onClose(world.store.listen(resource.storage, (change) => change.version > version && pass(change)));
}

/** What a change is to somebody who sees only part of the objects: leaving that part is a deletion. */
function changeAsSeen(change: Change, selects: Predicate): { type: EventType; stored: Stored } | undefined {
  const { type, now, before } = change;
  const was = before !== undefined && selects(before.object);
  const is = type !== 'DELETED' && selects(now.object);
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', stored: now };
  if (!was) return undefined;
  if (type === 'DELETED') return { type: 'DELETED', stored: now };
  // The last state that was seen, under the version in which it left.
  const { resourceVersion } = now.object.metadata;
  const metadata = { ...before.object.metadata, ...(resourceVersion && { resourceVersion }) };
  return { type: 'DELETED', stored: new Stored({ ...before.object, metadata }, now.version) };
}

function selection({ resource, namespace, name, query }: ApiRequest): Predicate {
  const predicate = objectPredicate(resource, selectorText(query));
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    (name === undefined || object.metadata.name === name) &&
    (!predicate || predicate(object));
}

interface OpenStream extends WatchStream {
  event(type: EventType, stored: Stored): void;
  bookmark(isInitialEnd?: boolean): void;
  send(text: string): void;
  end(): void;
  onClose(callback: () => void): void;
}

function openStream(
  world: World,
  { faults, bookmarkIntervalMs, streams }: WatchSettings,
  request: ApiRequest,
  response: ServerResponse,
): OpenStream {
  const { resource, query } = request;
  const held: string[] = [];
  const timers: NodeJS.Timeout[] = [];
  let hasEnded = false; // changes go on, and may come while the last bytes are still on their way
  let isDue = false;
  const wantsBookmarks = query.get('allowWatchBookmarks') === 'true' || query.get('allowWatchBookmarks') === '1';

  const stream: OpenStream = {
    resource: resource.plural,
    fail(error) {
      stream.send(renderEvent('ERROR', JSON.stringify(statusOf(error))));
      stream.end();
    },
    send(text) {
      if (hasEnded) return;
      if (faults.isStalled(resource.plural)) {
        held.push(text);
        return;
      }
      if (faults.take('cut-event', resource.plural, 'watch')) {
        hasEnded = true;
        response.write(text.slice(0, text.length >> 1), () => response.destroy());
        return;
      }
      response.write(text);
      if (response.writableLength > MAX_BACKLOG_BYTES) response.destroy();
    },
    flush() {
      for (const text of held.splice(0)) stream.send(text);
      if (isDue) stream.end();
    },
    event: (type, stored) => stream.send(renderEvent(type, renderOne(stored, renderOptions(world, request)))),
    bookmark(isInitialEnd = false) {
      if (!isInitialEnd && (!wantsBookmarks || faults.dropsBookmarks)) return;
      const text = renderBookmark(world.store.version, isInitialEnd, renderOptions(world, request));
      stream.send(renderEvent('BOOKMARK', text));
    },
    end() {
      isDue = true;
      if (hasEnded || faults.isStalled(resource.plural)) return; // an end is bytes too
      hasEnded = true;
      response.end();
    },
    onClose: (callback) => response.on('close', callback),
  };

  const timeoutSeconds = Number(query.get('timeoutSeconds') ?? 0);
  if (timeoutSeconds > 0) {
    const finish = () => {
      stream.bookmark(); // so that the next watch of this client starts as late as possible
      stream.end();
    };
    timers.push(setTimeout(finish, timeoutSeconds * 1000));
  }
  if (wantsBookmarks) timers.push(setInterval(() => stream.bookmark(), bookmarkIntervalMs));
  streams.add(stream);
  stream.onClose(() => {
    streams.delete(stream);
    for (const timer of timers) clearTimeout(timer);
  });
  return stream;
}

/** Streaming lists are only well defined together with "not older than". */
function requireSoundOptions(query: URLSearchParams): void {
  const match = query.get('resourceVersionMatch');
  const initial = query.get('sendInitialEvents');
  let wrong: FieldError | undefined;
  if (initial === null && match) {
    const message = 'Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided';
    wrong = { field: 'resourceVersionMatch', reason: 'FieldValueForbidden', message };
  } else if (initial !== null && match !== 'NotOlderThan') {
    const message = 'Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan';
    wrong = { field: 'resourceVersionMatch', reason: 'FieldValueForbidden', message };
  }
  if (!wrong) return;
  throw new ApiError(422, 'Invalid', `ListOptions.meta.k8s.io "" is invalid: ${wrong.field}: ${wrong.message}`, {
    group: 'meta.k8s.io',
    kind: 'ListOptions',
    causes: [wrong],
  });
}
