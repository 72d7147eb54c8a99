// Two agents on one node would undo each other's rules for ever. The one that runs holds an abstract Unix socket: a name
// that belongs to the network namespace, as the rules do, leaves no file, and is free the moment its process is gone, even
// by SIGKILL. Whoever connects is told who holds it, and sees the connection end when that process does.
//
// It guards against accidents, not against malice: any process in the host's network namespace may take the name.
import net from 'node:net';
import { type Clock, systemClock } from '../lib/clock.ts';
import { request } from '../lib/http.ts';

export interface AgentIdentity {
  /** As numbered in its own container. */
  readonly pid: number;
  readonly version: string;
  readonly mode: string;
  /** When it took the lock, RFC 3339. */
  readonly since: string;
}

export interface AgentLock {
  release(): Promise<void>;
}

export interface AgentLockOptions {
  readonly mode: string;
  readonly version: string;
  readonly clock?: Clock;
  /** What the agent has to tell those who ask it: plain data. */
  readonly news?: () => unknown;
}

const SOCKET = '\0portolan-agent';
const REPORT_INTERVAL_MS = 30_000;
const ANSWER_TIMEOUT_MS = 1000;
const PAUSE_MS = 200;

/** Waits until no other agent holds the lock; undefined if the signal was aborted first. `onWaiting` is told who holds it,
 *  at once and then every 30 s; `undefined` means that the holder does not say. */
export async function acquireAgentLock(
  options: AgentLockOptions,
  onWaiting: (holder: AgentIdentity | undefined) => void,
  signal: AbortSignal,
): Promise<AgentLock | undefined> {
  const { mode, version, clock = systemClock, news = () => undefined } = options;
  let reportedAt = Number.NEGATIVE_INFINITY;
  const report = (holder: AgentIdentity | undefined): void => {
    if (clock.now() - reportedAt < REPORT_INTERVAL_MS) return;
    reportedAt = clock.now();
    onWaiting(holder);
  };
  while (!signal.aborted) {
    const since = new Date(clock.wallNow()).toISOString();
    const lock = await hold({ pid: process.pid, version, mode, since }, news);
    if (lock) return lock;
    await followHolder(report, clock, signal);
    await clock.wait(PAUSE_MS, signal); // a holder that hangs up at once must not make us spin
  }
  return undefined;
}

/** Who holds the lock; undefined if nobody does, or it does not say. */
export async function agentLockHolder(): Promise<AgentIdentity | undefined> {
  const over = new AbortController();
  let holder: AgentIdentity | undefined;
  const answered = (identity: AgentIdentity | undefined): void => {
    holder = identity;
    over.abort();
  };
  await followHolder(answered, systemClock, over.signal);
  return holder;
}

/** What the agent on this host has to tell; undefined if none runs, or it does not answer in time. */
export async function agentNews(): Promise<unknown> {
  return new Promise((resolve) => {
    const socket = net.connect(SOCKET, () => socket.write('news?\n'));
    let text = '';
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy());
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (text.split('\n').length > 2) socket.destroy();
    });
    socket.on('error', () => {}); // nobody is there; `close` follows
    socket.on('close', () => resolve(parseNews(text)));
  });
}

/** The second line: the first says who it is. */
function parseNews(text: string): unknown {
  try {
    return JSON.parse(text.split('\n')[1] ?? '') ?? undefined;
  } catch {
    return undefined;
  }
}

/** The mode that a kube-proxy on this host answers with, Portolan or another; undefined if none answers. */
export async function runningProxyMode(port: number, host = '127.0.0.1'): Promise<string | undefined> {
  return new Promise((resolve) => {
    const asked = request({ host, port, path: '/proxyMode', timeout: ANSWER_TIMEOUT_MS, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        if (body.length < 100) body += text;
      });
      response.on('end', () => resolve(response.statusCode === 200 && /^\w+$/.test(body) ? body : undefined));
      response.on('error', () => resolve(undefined));
    });
    asked.on('timeout', () => asked.destroy());
    asked.on('error', () => resolve(undefined));
    asked.end();
  });
}

function hold(identity: AgentIdentity, news: () => unknown): Promise<AgentLock | undefined> {
  const asking = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    asking.add(socket);
    socket.unref();
    socket.on('error', () => {}); // who asked went away
    socket.on('close', () => asking.delete(socket));
    socket.write(`${JSON.stringify(identity)}\n`); // and stays open for as long as we live
    socket.once('data', () => socket.write(`${JSON.stringify(news() ?? null)}\n`));
  });
  return new Promise((resolve, reject) => {
    server.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error),
    );
    server.listen(SOCKET, () => {
      server.unref();
      const release = (): Promise<void> =>
        new Promise((done) => {
          server.close(() => done());
          for (const socket of asking) socket.destroy();
        });
      resolve({ release });
    });
  });
}

/** Reports the holder from time to time until it is gone. */
function followHolder(
  report: (holder: AgentIdentity | undefined) => void,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const socket = net.connect(SOCKET);
    const over = new AbortController();
    const stop = (): void => void socket.destroy();
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      if (text.length < 10_000) text += chunk;
      if (text.includes('\n')) report(parseIdentity(text));
    });
    socket.on('error', () => {}); // refused: it is gone; `close` follows
    socket.on('close', () => {
      over.abort();
      signal.removeEventListener('abort', stop);
      resolve();
    });
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    void (async () => {
      while (!over.signal.aborted) {
        await clock.wait(ANSWER_TIMEOUT_MS, over.signal);
        if (!over.signal.aborted) report(parseIdentity(text));
      }
    })();
  });
}

function parseIdentity(text: string): AgentIdentity | undefined {
  try {
    const { pid, version, mode, since } = JSON.parse(text) as Record<string, unknown>;
    return { pid: Number(pid), version: String(version), mode: String(mode), since: String(since) };
  } catch {
    return undefined; // half an answer, or none
  }
}
