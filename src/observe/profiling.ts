// The pages under /debug, served only when profiling is on: profiles of the JavaScript engine in place of Go's, and the log
// verbosity, which can be changed while the process runs. Profiles open in Chromium's developer tools.
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { getHeapSnapshot } from 'node:v8';
import { systemClock } from '../lib/clock.ts';
import { type Page, PLAIN_TEXT, type Reply, reply } from './reply.ts';

const INDEX = `/debug/pprof/

profile?seconds=30   CPU profile (.cpuprofile)
allocs?seconds=30    sampled allocations (.heapprofile)
heap                 heap snapshot (.heapsnapshot); stops the process while it is taken
cmdline              the command line, arguments separated by NUL
`;

const DEFAULT_SECONDS = 30;
const MAX_VERBOSITY = 2 ** 31 - 1;
const MAX_BODY_BYTES = 1024;

export function debugPages(setVerbosity: (level: number) => void): ReadonlyMap<string, Page> {
  const listing = flagListing();
  return new Map<string, Page>([
    ['/debug/pprof', () => redirect('/debug/pprof/')],
    ['/debug/pprof/', () => reply(200, PLAIN_TEXT, INDEX)],
    ['/debug/pprof/profile', profilePage('cpuprofile', cpuProfile)],
    ['/debug/pprof/allocs', profilePage('heapprofile', allocationProfile)],
    ['/debug/pprof/heap', heapSnapshotPage],
    ['/debug/pprof/cmdline', () => reply(200, PLAIN_TEXT, process.argv.join('\0'))],
    ['/debug/pprof/*', () => reply(404, PLAIN_TEXT, 'Unknown profile\n')],
    ['/debug/flags', () => listing],
    ['/debug/flags/', () => listing],
    ['/debug/flags/v', (request) => verbosityPage(request, setVerbosity)],
  ]);
}

async function verbosityPage(request: IncomingMessage, setVerbosity: (level: number) => void): Promise<Reply> {
  if (request.method !== 'PUT') return reply(406, 'text/plain', 'unsupported http method\n');
  const text = await readBody(request);
  const level = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(Math.abs(level) <= MAX_VERBOSITY)) {
    const reason = Number.isNaN(level) ? 'invalid syntax' : 'value out of range';
    return reply(
      400,
      'text/plain',
      `failed to set klog.logging.verbosity: parsing ${JSON.stringify(text)}: ${reason}\n`,
    );
  }
  setVerbosity(level);
  return reply(200, 'text/plain', `successfully set klog.logging.verbosity to ${text}\n`);
}

async function readBody(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk;
    if (text.length > MAX_BODY_BYTES) break;
  }
  return text;
}

function flagListing(): Reply {
  const body =
    '<html><head><title>/debug/flags/</title></head><body>/debug/flags/<ul><li><a href="/debug/flags/v">v</a></li></ul></body></html>\n';
  return reply(200, 'text/html; charset=utf-8', body);
}

function redirect(location: string): Reply {
  const answer = reply(302, 'text/html; charset=utf-8', `<a href="${location}">Found</a>.\n\n`);
  return { ...answer, headers: { ...answer.headers, Location: location } };
}

/** One profile at a time: the engine has one profiler, and a second one would falsify the first. */
function profilePage(extension: string, take: (milliseconds: number) => Promise<unknown>): Page {
  let isBusy = false;
  return async (_, url) => {
    const seconds = Number(url.searchParams.get('seconds') ?? DEFAULT_SECONDS);
    if (!(seconds > 0 && seconds <= 3600)) {
      return reply(400, PLAIN_TEXT, 'seconds must be a number above 0 and at most 3600\n');
    }
    if (isBusy) return reply(500, PLAIN_TEXT, 'a profile is already being taken\n');
    isBusy = true;
    try {
      const profile = await take(seconds * 1000);
      return attachment(`profile.${extension}`, JSON.stringify(profile));
    } finally {
      isBusy = false;
    }
  };
}

const heapSnapshotPage: Page = async (_request, _url, response) => {
  response.writeHead(200, attachment('heap.heapsnapshot', '').headers);
  await pipeline(getHeapSnapshot(), response);
  return undefined;
};

function attachment(fileName: string, body: string): Reply {
  const answer = reply(200, 'application/json', body);
  return { ...answer, headers: { ...answer.headers, 'Content-Disposition': `attachment; filename="${fileName}"` } };
}

async function cpuProfile(milliseconds: number): Promise<unknown> {
  const { Session } = await import('node:inspector/promises'); // costs memory, so only when asked for
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.start');
    await systemClock.wait(milliseconds);
    return (await session.post('Profiler.stop')).profile;
  } finally {
    session.disconnect();
  }
}

async function allocationProfile(milliseconds: number): Promise<unknown> {
  const { Session } = await import('node:inspector/promises');
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.startSampling');
    await systemClock.wait(milliseconds);
    return (await session.post('HeapProfiler.stopSampling')).profile;
  } finally {
    session.disconnect();
  }
}
