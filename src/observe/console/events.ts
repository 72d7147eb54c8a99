// `api/events`: what happens, as it happens, as server-sent events. While a stream is open the counters are read.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CounterWatch, Sample } from './counter-watch.ts';
import { SECURITY_HEADERS } from './page-files.ts';
import type { ConsoleEvents, RatesShape } from './shapes.ts';
import type { ConsoleState } from './state.ts';

/** Proxies drop connections that say nothing. */
const HEARTBEAT_MS = 20_000;
/** Whoever does not read is let go, before what waits for him fills the memory. */
const MAX_WAITING_BYTES = 4_000_000;

export interface EventSources {
  readonly state: ConsoleState;
  readonly counters: CounterWatch | undefined;
  readonly rates: (sample: Sample) => RatesShape;
}

export function streamEvents(request: IncomingMessage, response: ServerResponse, sources: EventSources): void {
  response.writeHead(200, { ...SECURITY_HEADERS, 'Content-Type': 'text/event-stream; charset=utf-8' });
  response.write(': connected\n\n');
  const send = <Name extends keyof ConsoleEvents>(name: Name, data: ConsoleEvents[Name]): void => {
    if (response.writableLength > MAX_WAITING_BYTES) response.destroy();
    else response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  const endings = [
    sources.state.listen(send),
    ...(sources.counters ? [sources.counters.watch((sample) => send('rates', sources.rates(sample)))] : []),
  ];
  const heartbeat = setInterval(() => response.write(': still here\n\n'), HEARTBEAT_MS);
  request.on('close', () => {
    clearInterval(heartbeat);
    for (const end of endings) end();
  });
}
