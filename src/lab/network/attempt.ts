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
}

export const TIMEOUT_MS = 1200;
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
  return transport === 'tcp' ? askTcp(fd) : askUdp(fd);
}

/** A second descriptor of the socket outlives Node's, to look for the ICMP error behind a refusal. */
async function askTcp(fd: number): Promise<Attempt> {
  const errors = duplicate(fd);
  try {
    // An error that comes back while connect() still holds the socket does not end the connection, and is seen only here.
    if (hasIcmpError(errors)) {
      closeSync(fd);
      return failed('icmp-unreachable');
    }
    const socket = new net.Socket({ fd, readable: true, writable: true });
    const result = await readAnswer(socket);
    return result.kind === 'failed' && hasIcmpError(errors) ? failed('icmp-unreachable') : result;
  } finally {
    closeSync(errors);
  }
}

function readAnswer(socket: net.Socket): Promise<Attempt> {
  return new Promise((resolve) => {
    let text = '';
    const settle = (result: Attempt) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(result);
    };
    const timer = setTimeout(() => settle(failed('timeout')), TIMEOUT_MS);
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('end', () => settle(text === '' ? failed('refused') : answered(text)));
    socket.on('error', (error) => settle(failed(failureOf(error))));
    socket.write(QUESTION);
  });
}

function askUdp(fd: number): Promise<Attempt> {
  return new Promise((resolve) => {
    const socket = dgram.createSocket('udp6');
    const settle = (result: Attempt) => {
      clearTimeout(timer);
      socket.close();
      resolve(result);
    };
    const timer = setTimeout(() => settle(failed('timeout')), TIMEOUT_MS);
    socket.on('message', (message) => settle(answered(message.toString())));
    // The one error that a datagram socket receives is an ICMP message.
    socket.on('error', () => settle(failed('icmp-unreachable')));
    socket.bind({ fd, exclusive: true });
    try {
      sendSocket(fd, QUESTION);
    } catch (error) {
      // EPERM says that a rule stopped the packet here. If the rule was REJECT, its ICMP message follows; if it was DROP,
      // nothing does.
      if (!(error instanceof LibcError && error.code === 'EPERM')) settle(failed(failureOf(error)));
    }
  });
}

function failureOf(error: unknown): Failure {
  const code = (error as NodeJS.ErrnoException).code;
  switch (code) {
    case 'ECONNREFUSED':
    case 'ECONNRESET':
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

function answered(text: string): Attempt {
  return { kind: 'answered', answer: JSON.parse(text) as Answer };
}

function failed(failure: Failure): Attempt {
  return { kind: 'failed', failure };
}
