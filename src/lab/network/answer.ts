// The servers of one host. Each answers any question, over TCP or UDP, with who was asked, which source address it saw and
// on which port, as one line of JSON; a browser or curl gets the same as a page.
import dgram from 'node:dgram';
import net from 'node:net';
import { parseIp } from '../../lib/ip.ts';
import { allowBothFamilies, allowReuse, bindSocket, listenSocket, openSocket, type Transport } from './libc.ts';

export interface Answer {
  readonly name: string;
  readonly source: string;
  readonly port: number;
}

/** Starts the servers in the namespace where the thread stands. Calling the result stops them. */
export function answerOn(name: string, ports: readonly number[]): () => void {
  const servers = ports.flatMap((port) => [answerTcp(name, port), answerUdp(name, port)]);
  return () => {
    for (const server of servers) server.close();
  };
}

function answerTcp(name: string, port: number): net.Server {
  const fd = boundSocket('tcp', port);
  listenSocket(fd);
  const server = net.createServer((socket) => {
    const answer = answerLine(name, socket.remoteAddress, port);
    socket.once('data', (question) => socket.end(question.toString('latin1', 0, 4) === 'GET ' ? page(answer) : answer));
    socket.on('error', () => socket.destroy()); // a client may leave before it has its answer
  });
  return server.listen({ fd });
}

function answerUdp(name: string, port: number): dgram.Socket {
  const socket = dgram.createSocket('udp6');
  socket.on('message', (_question, from) => {
    socket.send(answerLine(name, from.address, port), from.port, from.address, ignoreLostAnswer);
  });
  return socket.bind({ fd: boundSocket('udp', port), exclusive: true });
}

/** Without a callback an answer that cannot be sent would end the process; the client's timeout says enough. */
function ignoreLostAnswer(): void {}

function boundSocket(transport: Transport, port: number): number {
  const fd = openSocket(transport, 'IPv6');
  allowBothFamilies(fd);
  if (transport === 'tcp') allowReuse(fd);
  bindSocket(fd, '::', port);
  return fd;
}

function answerLine(name: string, source: string | undefined, port: number): string {
  const answer: Answer = { name, source: parseIp(source ?? '') ?? 'unknown', port };
  return `${JSON.stringify(answer)}\n`;
}

function page(body: string): string {
  const head = [
    'HTTP/1.1 200 OK',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
