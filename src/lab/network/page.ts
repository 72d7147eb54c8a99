// Gets one page over HTTP through a socket made elsewhere. Out: what can be compared: the status, the body without the
// fields that show a clock, and the weight that load balancers read.
import http from 'node:http';
import type net from 'node:net';

export interface PageProbe {
  readonly from: string;
  /** `192.168.50.1:10256/healthz` */
  readonly http: string;
}

export type PageResult =
  | { readonly status: number; readonly body: unknown; readonly weight?: string }
  | { readonly error: string };

const TIMEOUT_MS = 5000;
const CLOCK_FIELDS = ['lastUpdated', 'currentTime'];

export function getPage(url: string, socket: net.Socket): Promise<PageResult> {
  return new Promise((resolve) => {
    const { host, pathname, search } = new URL(`http://${url}`);
    const options = { createConnection: () => socket, path: `${pathname}${search}`, headers: { host } };
    const request = http.get(options, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve(pageResult(response, text)));
    });
    request.setTimeout(TIMEOUT_MS, () => request.destroy(Object.assign(new Error(), { code: 'ETIMEDOUT' })));
    request.on('error', (error: NodeJS.ErrnoException) => resolve({ error: error.code ?? error.name }));
  });
}

function pageResult(response: http.IncomingMessage, text: string): PageResult {
  const weight = response.headers['x-load-balancing-endpoint-weight'];
  return {
    status: response.statusCode ?? 0,
    body: pageBody(text),
    ...(typeof weight === 'string' && { weight }),
  };
}

function pageBody(text: string): unknown {
  try {
    return JSON.parse(text, (key, value: unknown) => (CLOCK_FIELDS.includes(key) ? undefined : value));
  } catch {
    return text;
  }
}
