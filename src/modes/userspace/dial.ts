// A connection to some backend. In: who may be asked. Out: a socket to the first that answers, after up to four tries that
// grow more patient; or nothing.
import net from 'node:net';
import type { Balancer } from './balancer.ts';
import type { Connection } from './connections.ts';
import type { RelayBackend } from './plan.ts';

const DIAL_TIMEOUTS_MS = [250, 500, 1000, 2000] as const;

/** `isWanted`: false once the client has gone, so that nobody is dialled for it. */
export async function dialBackend(
  balancer: Balancer,
  clientIp: string,
  connection: Connection,
  isWanted: () => boolean,
): Promise<net.Socket | undefined> {
  const failed = new Set<string>();
  for (const timeoutMs of DIAL_TIMEOUTS_MS) {
    const backend = balancer.choose(clientIp, failed);
    if (!backend || !isWanted()) return undefined;
    const dialled = await dial(backend, timeoutMs);
    if (typeof dialled !== 'string') {
      connection.backend = backend.address;
      return dialled;
    }
    failed.add(backend.address);
    connection.failedDials++;
    connection.lastFailure = `${backend.address}: ${dialled}`;
  }
  return undefined;
}

/** A socket, or why there is none. */
function dial({ ip, port }: RelayBackend, timeoutMs: number): Promise<net.Socket | string> {
  return new Promise((resolve) => {
    const socket = net.connect({ host: ip, port, allowHalfOpen: true, noDelay: true });
    const timer = setTimeout(() => fail({ code: `no answer within ${timeoutMs} ms` }), timeoutMs);
    const fail = ({ code = 'unknown' }: { readonly code?: string }): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(code);
    };
    socket.once('error', fail);
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.off('error', fail);
      resolve(socket);
    });
  });
}
