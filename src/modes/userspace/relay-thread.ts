// A thread of relays: takes requests from relay-threads.ts, and tells it of every connection that ended.
import { parentPort, workerData } from 'node:worker_threads';
import { assertNever } from '../../lib/assert.ts';
import type { ThreadAnswer, ThreadOptions, ThreadRequest } from './relay-threads.ts';
import { Relays } from './relays.ts';

const relays = new Relays(workerData as ThreadOptions);
relays.onEnded((connection) => parentPort!.postMessage({ kind: 'ended', connection } satisfies ThreadAnswer));

parentPort!.on('message', (request: ThreadRequest) => {
  const { id } = request;
  perform(request).then(
    (result) => parentPort!.postMessage({ kind: 'done', id, result } satisfies ThreadAnswer),
    (error: Error) => parentPort!.postMessage({ kind: 'failed', id, error } satisfies ThreadAnswer),
  );
});

async function perform(request: ThreadRequest): Promise<unknown> {
  switch (request.kind) {
    case 'ensure':
      await relays.ensure(request.plan, request.ip);
      return relays.portOf(request.plan.key);
    case 'stop':
      return relays.stop(request.key);
    case 'stop-all':
      return relays.stopAll();
    case 'expire':
      return relays.expire();
    case 'connections':
      return relays.connections();
    default:
      return assertNever(request);
  }
}
