// Small clients and objects for tests of the API server.
import { get } from 'node:http';
import type { KubeObject } from '../../src/lab/apiserver/object.ts';
import { type ApiServer, type ApiServerOptions, startApiServer } from '../../src/lab/apiserver/server.ts';

export async function withServer(options: ApiServerOptions, use: (server: ApiServer) => Promise<void>): Promise<void> {
  const server = await startApiServer(options);
  try {
    await use(server);
  } finally {
    await server.close();
  }
}

/** The parts of answers that tests look at. */
export interface AnswerBody {
  kind: string;
  code: number;
  message: string;
  reason: string;
  metadata: Record<string, string> & { remainingItemCount?: number };
  spec: Record<string, string>;
  items: Event['object'][];
}

export interface TestAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: AnswerBody;
}

export async function request(
  server: ApiServer,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<TestAnswer> {
  const response = await fetch(server.url + path, {
    method,
    headers: { 'Content-Type': 'application/json', Connection: 'close', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: JSON.parse(text) as AnswerBody };
}

export interface Event {
  readonly type: string;
  readonly object: KubeObject;
}

export interface Watch {
  take(count: number): Promise<Event[]>;
  /** What has arrived and is not a whole event. */
  rest(): string;
  /** How the stream came to its end. */
  readonly ended: Promise<'ended' | 'cut'>;
  close(): void;
}

export function openWatch(server: ApiServer, path: string): Promise<Watch> {
  return new Promise((resolve, reject) => {
    let buffer = '';
    const events: Event[] = [];
    let wake = () => {};
    const client = get(server.url + path, { agent: false }, (response) => {
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        const lines = (buffer + chunk).split('\n');
        buffer = lines.pop()!;
        events.push(...lines.map((line) => JSON.parse(line) as Event));
        wake();
      });
      const ended = new Promise<'ended' | 'cut'>((done) => {
        response.on('end', () => done('ended'));
        response.on('error', () => done('cut'));
      });
      resolve({
        async take(count) {
          while (events.length < count) await new Promise<void>((next) => (wake = next));
          return events.splice(0, count);
        },
        rest: () => buffer,
        ended,
        close: () => client.destroy(),
      });
    });
    client.on('error', reject);
  });
}

export function serviceObject(name: string, spec: Record<string, string> = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default' },
    spec: { ports: [{ port: 80 }], selector: { app: name }, ...spec },
  };
}

export function nodeObject(name: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': name } },
    status: { addresses: [{ type: 'InternalIP', address: '192.0.2.1' }] },
  };
}

export function sliceObject(service: string, addresses: string[]): KubeObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `${service}-1`, namespace: 'default', labels: { 'kubernetes.io/service-name': service } },
    addressType: 'IPv4',
    endpoints: addresses.map((address) => ({ addresses: [address] })),
    ports: [{ name: '', port: 8080, protocol: 'TCP' }],
  };
}
