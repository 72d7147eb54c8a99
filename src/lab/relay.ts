// Hands a request on to a server that only a host of the lab can reach. In: a way to connect to it. Out: its answer, as it comes.
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export async function relay(
  message: IncomingMessage,
  response: ServerResponse,
  path: string,
  connect: () => Promise<Socket>,
): Promise<void> {
  const refuse = (error: unknown): void => {
    if (response.headersSent) response.destroy();
    else response.writeHead(502, { 'Content-Type': 'text/plain' }).end(`it cannot be reached: ${String(error)}\n`);
  };
  try {
    const socket = await connect();
    const { host: _, connection: __, authorization: ___, ...headers } = message.headers;
    const asked = http.request({
      createConnection: () => socket,
      method: message.method,
      path,
      headers: { ...headers, host: 'localhost', connection: 'close' },
    });
    asked.on('error', refuse);
    asked.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    response.on('close', () => asked.destroy());
    message.pipe(asked);
  } catch (error) {
    refuse(error);
  }
}
