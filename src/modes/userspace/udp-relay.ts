// One UDP port of ours: each client gets a socket of its own to a backend, and answers go back the way the question came.
// A client that is quiet for a while is forgotten, and may meet another backend when it comes again.
import dgram from 'node:dgram';
import { familyOf, hostPort } from '../../lib/ip.ts';
import type { Balancer } from './balancer.ts';
import type { Connection, ConnectionLog, Outcome, RelayName } from './connections.ts';
import type { Relay } from './relay.ts';

interface Exchange {
  readonly socket: dgram.Socket;
  readonly connection: Connection;
  timer: NodeJS.Timeout;
  /** Datagrams that came before the socket was ready. */
  waiting: Uint8Array[] | undefined;
}

// What may wait for a socket that takes a moment to open; UDP promises nothing beyond.
const MAX_WAITING = 64;

export class UdpRelay implements Relay {
  readonly balancer: Balancer;
  readonly #name: RelayName;
  readonly #log: ConnectionLog;
  readonly #idleTimeoutMs: number;
  readonly #exchanges = new Map<string, Exchange>();
  #socket: dgram.Socket | undefined;

  constructor(name: RelayName, balancer: Balancer, log: ConnectionLog, idleTimeoutMs: number) {
    this.#name = name;
    this.balancer = balancer;
    this.#log = log;
    this.#idleTimeoutMs = idleTimeoutMs;
  }

  get port(): number {
    return this.#socket!.address().port;
  }

  /** Clients that are remembered. */
  get clients(): number {
    return this.#exchanges.size;
  }

  listen(ip: string, port: number): Promise<void> {
    const isIPv6 = familyOf(ip) === 'IPv6';
    const socket = dgram.createSocket({ type: isIPv6 ? 'udp6' : 'udp4', ipv6Only: isIPv6 });
    this.#socket = socket;
    socket.on('message', (data, from) => this.#fromClient(data, from));
    return new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.bind({ address: ip, port, exclusive: true }, () => {
        socket.off('error', reject);
        socket.on('error', () => {}); // an answer that could not be sent; the client asks again
        resolve();
      });
    });
  }

  /** UDP has no connections to go on with: all exchanges end. */
  stop(): void {
    for (const key of [...this.#exchanges.keys()]) this.#end(key, 'stopped');
    this.#socket?.close();
  }

  #fromClient(data: Uint8Array, from: dgram.RemoteInfo): void {
    const key = hostPort(from.address, from.port);
    const exchange = this.#exchanges.get(key) ?? this.#begin(key, from);
    if (!exchange) return;
    exchange.timer.refresh();
    exchange.connection.bytesToBackend += data.length;
    if (!exchange.waiting) exchange.socket.send(data, ignoreLoss);
    else if (exchange.waiting.length < MAX_WAITING) exchange.waiting.push(data);
  }

  /** Without a backend the datagram is dropped: there is no way to refuse it. */
  #begin(key: string, from: dgram.RemoteInfo): Exchange | undefined {
    const backend = this.balancer.choose(from.address);
    if (!backend) return undefined;
    const socket = dgram.createSocket(familyOf(backend.ip) === 'IPv6' ? 'udp6' : 'udp4');
    const connection = this.#log.begin(this.#name, key);
    connection.backend = backend.address;
    const timer = setTimeout(() => this.#end(key, 'idle'), this.#idleTimeoutMs);
    const exchange: Exchange = { socket, connection, timer, waiting: [] };
    this.#exchanges.set(key, exchange);
    socket.on('error', () => this.#end(key, 'reset-by-backend')); // such as an ICMP answer that nobody listens
    socket.on('message', (data) => {
      timer.refresh();
      connection.bytesToClient += data.length;
      this.#socket?.send(data, from.port, from.address, ignoreLoss);
    });
    socket.connect(backend.port, backend.ip, () => {
      for (const data of exchange.waiting ?? []) socket.send(data, ignoreLoss);
      exchange.waiting = undefined;
    });
    return exchange;
  }

  #end(key: string, outcome: Outcome): void {
    const exchange = this.#exchanges.get(key);
    if (!exchange) return;
    this.#exchanges.delete(key);
    clearTimeout(exchange.timer);
    exchange.socket.close();
    this.#log.end(exchange.connection, outcome);
  }
}

/** Without a callback a datagram that cannot be sent would be an error of the socket; it is only a datagram that is lost. */
function ignoreLoss(): void {}
