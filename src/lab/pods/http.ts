// HTTP over sockets that were made in a host of the network: serving a program's answers, and asking for a page.
import http from 'node:http';
import type net from 'node:net';
import { parseIp } from '../../lib/ip.ts';
import { type Page, type Question, type Reply, SERVED_BY } from './program.ts';

const TIMEOUT_MS = 3000;

/** Takes connections and answers each question. Calling `close` ends those still open. */
export function httpServer(
  servedBy: string,
  port: number,
  answer: (question: Question) => Promise<Reply> | Reply,
  log: (line: string) => void,
): { accept(socket: net.Socket): void; close(): void } {
  const server = http.createServer(async (request, response) => {
    const source = parseIp(request.socket.remoteAddress ?? '') ?? 'unknown';
    const { method = 'GET', url = '/', headers } = request;
    const reply = await answered(answer, { method, path: url, headers, body: await bodyOf(request), source, port });
    log(`${source} "${method} ${url}" ${reply.status ?? 200}`);
    response.writeHead(reply.status ?? 200, {
      'content-type': `${reply.type ?? 'text/plain'}; charset=utf-8`,
      [SERVED_BY]: servedBy,
    });
    response.end(reply.body);
  });
  return {
    accept: (socket) => void server.emit('connection', socket),
    close: () => server.closeAllConnections(),
  };
}

/** Asks for a page through a connection that is being made. If either does not come to an end, the question does. */
export async function getPage(url: URL, connecting: Promise<net.Socket>): Promise<Page> {
  const { promise, resolve, reject } = Promise.withResolvers<Page>();
  const late = (): void => reject(Object.assign(new Error(`no answer from ${url.host}`), { code: 'ETIMEDOUT' }));
  const timer = setTimeout(late, TIMEOUT_MS);
  connecting.then((socket) => {
    promise.catch(() => socket.destroy());
    askForPage(url, socket).then(resolve, reject);
  }, reject);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}

function askForPage(url: URL, socket: net.Socket): Promise<Page> {
  return new Promise((resolve, reject) => {
    const options = {
      createConnection: () => socket,
      path: `${url.pathname}${url.search}`,
      headers: { host: url.host, connection: 'close' },
    };
    const request = http.get(options, async (response) => {
      const servedBy = response.headers[SERVED_BY];
      const body = await bodyOf(response).catch(reject);
      if (body === undefined) return;
      resolve({
        status: response.statusCode ?? 0,
        body,
        servedBy: typeof servedBy === 'string' ? servedBy : undefined,
      });
    });
    request.on('error', reject);
  });
}

async function answered(answer: (question: Question) => Promise<Reply> | Reply, question: Question): Promise<Reply> {
  try {
    return await answer(question);
  } catch (error) {
    return { status: 502, body: `${error instanceof Error ? error.message : error}\n` };
  }
}

async function bodyOf(message: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
