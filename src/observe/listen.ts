// Opens listening sockets the way Go programs do, so that one bind address means the same to both.
// In: an address and what to answer. Out: a server that listens now, or a retry every few seconds, or a fatal error.
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer } from '../lib/http.ts';
import { hostPort, parseIp } from '../lib/ip.ts';

export interface SocketAddress {
  readonly host: string;
  readonly port: number;
  /** The socket refuses the other family's packets. */
  readonly isSingleFamily: boolean;
}

export interface KeepListeningOptions {
  /** `0.0.0.0:10256` */
  readonly bindAddress: string;
  readonly answer: RequestListener;
  readonly isHardFail: boolean;
  /** The socket could not be opened and will be tried again. */
  readonly onRetry: (error: Error) => void;
  /** The socket could not be opened and will not be tried again: the process should end. */
  readonly onFatal: (error: Error) => void;
  readonly onListening?: (address: AddressInfo) => void;
  readonly retryMs?: number;
}

export interface Listening {
  close(): Promise<void>;
}

const RETRY_MS = 5000;

/** Not the host's fault or another program's: this socket cannot exist where IPv6 is switched off. */
const NO_IPV6: ReadonlySet<string> = new Set(['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EPROTONOSUPPORT']);

export function keepListening(options: KeepListeningOptions): Listening {
  let server: Server | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const open = async (): Promise<void> => {
    try {
      const opened = await listen(options.answer, socketChoices(options.bindAddress));
      if (isClosed) return closeServer(opened);
      server = opened;
      options.onListening?.(opened.address() as AddressInfo);
    } catch (error) {
      if (isClosed) return;
      const refused = new Error(goListenError('tcp', options.bindAddress, error), { cause: error });
      if (options.isHardFail) return options.onFatal(refused);
      options.onRetry(refused);
      timer = setTimeout(() => (opening = open()), options.retryMs ?? RETRY_MS);
    }
  };
  let opening = open();

  return {
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await opening;
      if (server) await closeServer(server);
    },
  };
}

/** The sockets that would do for a bind address, best first. Both wildcards mean one socket for both families. */
export function socketChoices(bindAddress: string): SocketAddress[] {
  const colon = bindAddress.lastIndexOf(':');
  const host = bindAddress.slice(0, colon).replace(/^\[|\]$/g, '');
  const port = Number(bindAddress.slice(colon + 1));
  const ip = parseIp(host) ?? host;
  if (ip !== '0.0.0.0' && ip !== '::') return [{ host: ip, port, isSingleFamily: true }];
  return [
    { host: '::', port, isSingleFamily: false },
    { host: '0.0.0.0', port, isSingleFamily: true },
  ];
}

/** Listens on the first address the host can have; an address that is taken is an error at once. */
export async function listen(answer: RequestListener, choices: readonly SocketAddress[]): Promise<Server> {
  for (const [i, choice] of choices.entries()) {
    try {
      return await listenOn(answer, choice);
    } catch (error) {
      if (i === choices.length - 1 || !NO_IPV6.has(errorCode(error))) throw error;
    }
  }
  throw new Error('no address to listen on');
}

/** Drops open connections too: a load balancer must not be answered from a port that is gone. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** The error in the words operators know and search for. */
export function goListenError(network: 'tcp' | 'tcp4' | 'tcp6', address: string, error: unknown): string {
  return `listen ${network} ${address}: bind: ${REASONS[errorCode(error)] ?? errorText(error)}`;
}

/** `0.0.0.0:30100`, `[::]:30100` */
export function socketText({ host, port }: SocketAddress): string {
  return hostPort(host, port);
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'address already in use',
  EADDRNOTAVAIL: 'cannot assign requested address',
  EACCES: 'permission denied',
  EAFNOSUPPORT: 'address family not supported by protocol',
  EINVAL: 'invalid argument',
};

/** How soon the kernel asks whether a silent client is still there. */
const TCP_KEEPALIVE_MS = 15_000;

function listenOn(answer: RequestListener, { host, port, isSingleFamily }: SocketAddress): Promise<Server> {
  const server = createServer({ keepAlive: true, keepAliveInitialDelay: TCP_KEEPALIVE_MS }, answer);
  // Load balancers ask every few seconds over one connection. Were it ended while idle, some questions would meet the end
  // on their way, and the node would count as ill.
  server.keepAliveTimeout = 0;
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, ipv6Only: isSingleFamily && host.includes(':') }, () => {
      server.off('error', reject);
      // A connection that cannot be accepted (no file descriptor left) is lost; the next one is tried anew.
      server.on('error', () => {});
      resolve(server);
    });
  });
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
