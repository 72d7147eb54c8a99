// A real HTTP or HTTPS server that plays a script: each request gets the next answer, however wrong it is told to be. When
// the script is over, watches get a silent, healthy stream.
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { ANONYMOUS, type ApiConfig } from '../../src/api/client/config.ts';
import type { ApiLog } from '../../src/api/client/log.ts';
import type { Clock } from '../../src/lib/clock.ts';

export type Answer = (response: ServerResponse, request: IncomingMessage) => void;

export interface ScriptedServer {
  readonly url: string;
  /** What came in: method, path, query, headers, body. */
  readonly requests: Received[];
  /** Appends answers. */
  say(...answers: Answer[]): void;
  readonly pending: number;
  /** How many connections were ever made. */
  readonly connections: number;
  /** Ends the server and every connection. */
  stop(): Promise<void>;
  /** Listens again where it did before. */
  restart(): Promise<void>;
}

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly query: Record<string, string>;
  readonly headers: IncomingMessage['headers'];
  readonly subject: string;
  body: string;
}

export async function scriptedServer(t: TestContext, answers: Answer[], tls?: ServerOptions): Promise<ScriptedServer> {
  const script = [...answers];
  const requests: Received[] = [];
  const listener: RequestListener = (request, response) => {
    const url = new URL(request.url ?? '/', 'http://x');
    const peer = (
      request.socket as { getPeerCertificate?: () => { subject?: { CN?: string } } }
    ).getPeerCertificate?.();
    const received: Received = {
      method: request.method ?? '',
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: request.headers,
      subject: peer?.subject?.CN ?? '',
      body: '',
    };
    requests.push(received);
    request.on('data', (chunk) => {
      received.body += chunk;
    });
    request.on('end', () => (script.shift() ?? events([], 'stay'))(response, request));
  };
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  const listen = (port: number): Promise<void> => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  t.after(stop);
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    requests,
    say: (...more) => script.push(...more),
    get pending() {
      return script.length;
    },
    get connections() {
      return connections;
    },
    stop,
    restart: () => listen(port),
  };
}

/** A watch stream: frames (objects become lines of JSON, strings go out as they are), then its end. */
export function events(frames: readonly (object | string)[], then: 'end' | 'cut' | 'stay'): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    const body = frames.map((frame) => (typeof frame === 'string' ? frame : `${JSON.stringify(frame)}\n`)).join('');
    if (then === 'end') response.end(body);
    else if (then === 'cut') response.write(body, () => setTimeout(() => response.destroy(), 20));
    else if (body !== '') response.write(body);
  };
}

export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
}

export function status(code: number, reason = '', message = '', headers: Record<string, string> = {}): Answer {
  return json({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message }, code, headers);
}

export function page(code: number, body: string, type = 'text/html'): Answer {
  return (response) => {
    response.writeHead(code, { 'content-type': type });
    response.end(body);
  };
}

export function list(names: readonly string[], version: string, continueToken?: string): Answer {
  return json({
    kind: 'ServiceList',
    apiVersion: 'v1',
    metadata: { resourceVersion: version, ...(continueToken ? { continue: continueToken } : {}) },
    items: names.map((name) => object(name, version)),
  });
}

export function object(name: string, version: string, value = ''): object {
  return { kind: 'Service', metadata: { namespace: 'shop', name, resourceVersion: version }, spec: { value } };
}

export function event(type: string, name: string, version: string, value = ''): object {
  return { type, object: object(name, version, value) };
}

export function bookmark(version: string, endsInitial = false): object {
  const annotations = endsInitial ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {};
  return { type: 'BOOKMARK', object: { kind: 'Service', metadata: { resourceVersion: version, ...annotations } } };
}

/** Without credentials, without a proxy, unless told. */
export function configFor(server: string, more: Partial<ApiConfig> = {}): ApiConfig {
  return {
    server,
    tls: { ca: undefined, serverName: '', insecureSkipVerify: false },
    proxyUrl: '',
    user: ANONYMOUS,
    ...more,
  };
}

export interface RecordedLine {
  readonly level: 'info' | 'error';
  readonly message: string;
  readonly values: Readonly<Record<string, unknown>>;
}

export function recordingLog(): { log: ApiLog; lines: RecordedLine[] } {
  const lines: RecordedLine[] = [];
  const record =
    (level: RecordedLine['level']) =>
    (message: string, values: Readonly<Record<string, unknown>> = {}): void => {
      lines.push({ level, message, values });
    };
  return { log: { info: record('info'), error: record('error') }, lines };
}

/** Waits take no time and are written down; time passes only by waiting. */
export function quickClock(): { clock: Clock; waits: number[] } {
  const waits: number[] = [];
  let now = 0;
  const clock: Clock = {
    now: () => now,
    wallNow: () => Date.UTC(2026, 0, 2, 3, 4, 5, 678) + now,
    wait: async (ms, signal) => {
      waits.push(ms);
      now += ms;
      await new Promise((resolve) => setImmediate(resolve));
      if (signal?.aborted) return;
    },
  };
  return { clock, waits };
}

/** Resolves once the claim holds; a claim that never does fails the test with its name. */
export async function until(claim: string, holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`this never became true: ${claim}`);
}
