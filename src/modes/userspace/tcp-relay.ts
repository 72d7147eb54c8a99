// One TCP port of ours: each client that connects is joined with a backend. Bytes go both ways as fast as the slower side
// takes them; either side may finish while the other goes on; a reset on one side is a reset on the other.
import net from 'node:net';
import { hostPort, parseIp } from '../../lib/ip.ts';
import type { Balancer } from './balancer.ts';
import type { Connection, ConnectionLog, Outcome, RelayName } from './connections.ts';
import { dialBackend } from './dial.ts';
import type { Relay } from './relay.ts';

const BACKLOG = 4096;

export class TcpRelay implements Relay {
  readonly balancer: Balancer;
  readonly #name: RelayName;
  readonly #log: ConnectionLog;
  readonly #onTrouble: (error: Error) => void;
  readonly #server: net.Server;

  /** `onTrouble`: a client could not be let in; the next one may be. */
  constructor(name: RelayName, balancer: Balancer, log: ConnectionLog, onTrouble: (error: Error) => void) {
    this.balancer = balancer;
    this.#name = name;
    this.#log = log;
    this.#onTrouble = onTrouble;
    // Nothing is read before there is somebody to hand it to.
    this.#server = net.createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (client) => {
      void this.#serve(client);
    });
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  /** Port 0: of the kernel's choice. */
  listen(ip: string, port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host: ip, port, backlog: BACKLOG, ipv6Only: true }, () => {
        this.#server.off('error', reject);
        this.#server.on('error', this.#onTrouble);
        resolve();
      });
    });
  }

  /** New clients are turned away; those that are connected go on. */
  stop(): void {
    this.#server.close();
  }

  async #serve(client: net.Socket): Promise<void> {
    const clientIp = parseIp(client.remoteAddress ?? '');
    if (clientIp === undefined) return void client.destroy(); // it has gone already
    const connection = this.#log.begin(this.#name, hostPort(clientIp, client.remotePort ?? 0));
    const abandon = (): void => void client.destroy();
    client.once('error', abandon);
    const backend = await dialBackend(this.balancer, clientIp, connection, () => !client.destroyed);
    client.off('error', abandon);
    if (!backend || client.destroyed) {
      client.resetAndDestroy(); // not an orderly end, which would look like an empty answer
      backend?.destroy();
      this.#log.end(connection, backend ? 'reset-by-client' : 'no-backend');
      return;
    }
    this.#join(client, backend, connection);
  }

  #join(client: net.Socket, backend: net.Socket, connection: Connection): void {
    let outcome: Outcome = 'closed';
    const end = (): void => {
      if (!client.destroyed || !backend.destroyed) return;
      connection.bytesToBackend = backend.bytesWritten;
      connection.bytesToClient = client.bytesWritten;
      this.#log.end(connection, outcome);
    };
    const failing = (from: net.Socket, to: net.Socket, as: Outcome): void => {
      from.on('error', () => {
        if (outcome === 'closed') outcome = as;
        to.resetAndDestroy();
      });
      from.on('close', end);
    };
    failing(client, backend, 'reset-by-client');
    failing(backend, client, 'reset-by-backend');
    client.on('data', () => {
      connection.bytesToBackend = client.bytesRead;
    });
    backend.on('data', () => {
      connection.bytesToClient = backend.bytesRead;
    });
    client.pipe(backend);
    backend.pipe(client);
    client.resume();
  }
}
