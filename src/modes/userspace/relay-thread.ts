// A thread of relays: takes requests from relay-threads.ts, and tells it of every connection that ended.
import { parentPort, workerData } from 'node:worker_threads';
import { assertNever } from '../../lib/assert.ts';
import type { ThreadAnswer, ThreadOptions, ThreadRequest } from './relay-threads.ts';
import { Relays } from './relays.ts';

const relays = new Relays(workerData as ThreadOptions);
const tell = (answer: ThreadAnswer): void => parentPort!.postMessage(answer);
relays.onEnded((connection) => tell({ kind: 'ended', connection }));
relays.onTrouble((relay, error) => tell({ kind: 'trouble', relay, error }));

parentPort!.on('message', (request: ThreadRequest) => {
  const { id } = request;
  perform(request).then(
    (result) => tell({ kind: 'done', id, result }),
    (error: Error) => tell({ kind: 'failed', id, error }),
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
    case 'totals':
      return relays.totals();
    default:
      return assertNever(request);
  }
}
