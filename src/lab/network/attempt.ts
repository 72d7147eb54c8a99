// One question to one address. In: where to, and from where. Out: who answered, or how it failed. The socket is made before
// the function returns, in the namespace where the thread stands.
import dgram from 'node:dgram';
import { closeSync } from 'node:fs';
import net from 'node:net';
import { familyOf } from '../../lib/ip.ts';
import type { Answer } from './answer.ts';
import {
  bindSocket,
  connectSocket,
  duplicate,
  hasIcmpError,
  keepIcmpErrors,
  LibcError,
  openSocket,
  sendSocket,
  type Transport,
} from './libc.ts';

export type Failure = 'timeout' | 'refused' | 'icmp-unreachable';

export type Attempt =
  | { readonly kind: 'answered'; readonly answer: Answer }
  | { readonly kind: 'failed'; readonly failure: Failure };

export interface Target {
  readonly ip: string;
  readonly port: number;
  readonly sourceIp: string;
  readonly sourcePort: number;
  /** How long an answer is waited for. */
  readonly timeoutMs: number;
}

const QUESTION = Buffer.from('who?\n');

/** Undefined if the source port is taken. */
export function attempt(transport: Transport, target: Target): Promise<Attempt> | undefined {
  const family = familyOf(target.ip);
  const fd = openSocket(transport, family);
  try {
    if (transport === 'tcp') keepIcmpErrors(fd, family);
    bindSocket(fd, target.sourceIp, target.sourcePort);
    connectSocket(fd, target.ip, target.port);
  } catch (error) {
    closeSync(fd);
    if (error instanceof LibcError && error.code === 'EADDRINUSE') return undefined;
    return Promise.resolve(failed(failureOf(error)));
  }
  return transport === 'tcp' ? askTcp(fd, target.timeoutMs) : askUdp(fd, target.timeoutMs);
}

/** A second descriptor of the socket outlives Node's, to look for the ICMP error behind a refusal. */
async function askTcp(fd: number, timeoutMs: number): Promise<Attempt> {
  const errors = duplicate(fd);
  try {
    // An error that comes back while connect() still holds the socket does not end the connection, and is seen only here.
    if (hasIcmpError(errors)) {
      closeSync(fd);
      return failed('icmp-unreachable');
    }
    return answered(await readStream(new net.Socket({ fd, readable: true, writable: true }), timeoutMs));
  } catch (error) {
    return failed(hasIcmpError(errors) ? 'icmp-unreachable' : failureOf(error));
  } finally {
    closeSync(errors);
  }
}

async function askUdp(fd: number, timeoutMs: number): Promise<Attempt> {
  const socket = dgram.createSocket('udp6').bind({ fd, exclusive: true });
  try {
    return answered(await readDatagram(socket, fd, timeoutMs));
  } catch (error) {
    const failure = failureOf(error);
    return failed(failure === 'refused' ? 'icmp-unreachable' : failure); // nobody resets a datagram
  } finally {
    socket.close();
  }
}

function readStream(socket: net.Socket, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const timer = setTimeout(() => socket.destroy(errorWith('ETIMEDOUT')), timeoutMs);
    socket.on('close', () => clearTimeout(timer));
    socket.on('error', reject);
    socket.on('end', () => (text === '' ? reject(errorWith('ECONNRESET')) : resolve(text)));
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.write(QUESTION);
  });
}

function readDatagram(socket: dgram.Socket, fd: number, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(errorWith('ETIMEDOUT')), timeoutMs);
    socket.on('close', () => clearTimeout(timer));
    socket.on('error', reject);
    socket.on('message', (message) => resolve(message.toString()));
    try {
      sendSocket(fd, QUESTION);
    } catch (error) {
      // EPERM: a rule stopped the packet here. After REJECT an ICMP message follows; after DROP, nothing.
      if ((error as LibcError).code !== 'EPERM') reject(error);
    }
  });
}

/** Throws what is no answer to the question, such as a bug of ours. */
function failureOf(error: unknown): Failure {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ECONNREFUSED':
    case 'ECONNRESET':
    case 'EPIPE':
      return 'refused';
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return 'icmp-unreachable';
    case 'ETIMEDOUT':
    case 'EPERM':
      return 'timeout';
    default:
      throw error;
  }
}

function errorWith(code: string): Error {
  return Object.assign(new Error(code), { code });
}

function answered(text: string): Attempt {
  return { kind: 'answered', answer: JSON.parse(text) as Answer };
}

function failed(failure: Failure): Attempt {
  return { kind: 'failed', failure };
}
