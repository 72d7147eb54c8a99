// A byte stream to the API server through a proxy: CONNECT for http and https proxies (also for a plain-HTTP server, which
// keeps one path for both), RFC 1928 for socks5.
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, type Socket } from 'node:net';
import { ipBytes, parseIp } from '../../lib/ip.ts';
import { ApiError } from './error.ts';

export async function dialThrough(proxy: URL, host: string, port: number): Promise<Socket> {
  return proxy.protocol.startsWith('socks5') ? dialSocks(proxy, host, port) : dialConnect(proxy, host, port);
}

function dialConnect(proxy: URL, host: string, port: number): Promise<Socket> {
  const target = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const isTls = proxy.protocol === 'https:';
  const headers: Record<string, string> = { host: target };
  if (proxy.username !== '') headers['proxy-authorization'] = `Basic ${btoa(userInfo(proxy).join(':'))}`;
  const request = (isTls ? httpsRequest : httpRequest)({
    host: proxyHost(proxy),
    port: proxy.port || (isTls ? 443 : 80),
    method: 'CONNECT',
    path: target,
    headers,
    agent: false,
  });
  return new Promise((resolve, reject) => {
    request.on('connect', (response: IncomingMessage, socket: Socket) => {
      if (response.statusCode === 200) return resolve(socket);
      socket.destroy();
      reject(refused(proxy, target, `${response.statusCode} ${response.statusMessage}`));
    });
    // Some proxies answer CONNECT with an ordinary page; node reports that as a response.
    request.on('response', (response) => {
      response.destroy();
      reject(refused(proxy, target, `${response.statusCode} ${response.statusMessage}`));
    });
    request.on('error', (cause) => reject(refused(proxy, target, cause.message, cause)));
    request.end();
  });
}

const SOCKS_VERSION = 5;
const NO_AUTHENTICATION = 0;
const USERNAME_PASSWORD = 2;
const SOCKS_REPLIES = [
  'succeeded',
  'general failure',
  'not allowed by the ruleset',
  'network unreachable',
  'host unreachable',
  'connection refused',
  'TTL expired',
  'command not supported',
  'address type not supported',
];

async function dialSocks(proxy: URL, host: string, port: number): Promise<Socket> {
  const socket = connect({ host: proxyHost(proxy), port: Number(proxy.port || 1080) });
  const target = `${host}:${port}`;
  try {
    await once(socket, 'connect');
    const method = proxy.username === '' ? NO_AUTHENTICATION : USERNAME_PASSWORD;
    socket.write(Uint8Array.of(SOCKS_VERSION, 1, method));
    const [, chosen] = await readExactly(socket, 2);
    if (chosen !== method) throw refused(proxy, target, 'no authentication method in common');
    if (method === USERNAME_PASSWORD) {
      const [username, password] = userInfo(proxy).map((part) => Buffer.from(part)) as [Buffer, Buffer];
      socket.write(Buffer.concat([Buffer.of(1, username.length), username, Buffer.of(password.length), password]));
      if ((await readExactly(socket, 2))[1] !== 0) throw refused(proxy, target, 'username and password refused');
    }
    // version, command CONNECT, reserved, address, port
    const portBytes = Buffer.of(port >> 8, port & 0xff);
    socket.write(Buffer.concat([Buffer.of(SOCKS_VERSION, 1, 0), socksAddress(host), portBytes]));
    const [, reply, , addressType] = await readExactly(socket, 4);
    if (reply !== 0) throw refused(proxy, target, SOCKS_REPLIES[reply ?? 1] ?? `reply ${reply}`);
    const addressLength = addressType === 1 ? 4 : addressType === 4 ? 16 : (await readExactly(socket, 1))[0]!;
    await readExactly(socket, addressLength + 2);
    return socket;
  } catch (cause) {
    socket.destroy();
    throw cause instanceof ApiError ? cause : refused(proxy, target, (cause as Error).message, cause);
  }
}

/** Type byte, then 4 or 16 bytes, or a length and a name that the proxy resolves. */
function socksAddress(host: string): Buffer {
  const ip = parseIp(host);
  if (ip === undefined) return Buffer.concat([Buffer.of(3, Buffer.byteLength(host)), Buffer.from(host)]);
  const bytes = ipBytes(ip);
  return Buffer.concat([Buffer.of(bytes.length === 4 ? 1 : 4), bytes]);
}

async function readExactly(socket: Socket, length: number): Promise<Buffer> {
  for (;;) {
    const bytes = socket.read(length) as Buffer | null;
    if (bytes?.length === length) return bytes;
    if (socket.readableEnded || socket.destroyed) throw new Error('the proxy closed the connection');
    await Promise.race([once(socket, 'readable'), once(socket, 'end')]);
  }
}

function proxyHost(proxy: URL): string {
  return proxy.hostname.replace(/^\[|\]$/g, '');
}

function userInfo(proxy: URL): [string, string] {
  return [decodeURIComponent(proxy.username), decodeURIComponent(proxy.password)];
}

function refused(proxy: URL, target: string, answer: string, cause?: unknown): ApiError {
  return new ApiError({
    code: 'API_UNREACHABLE',
    message: `proxy ${proxy.host} did not connect us to ${target}: ${answer}`,
    cause,
  });
}
