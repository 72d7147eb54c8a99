// The health-check node ports of Services with externalTrafficPolicy Local: a load balancer asks each node whether it has
// endpoints, and how many. In: after each successful sync, the services of one IP family that want a port. Out: listeners.
import type { RequestListener, Server } from 'node:http';
import { familyOf } from '../lib/ip.ts';
import { closeServer, goListenError, listen, type SocketAddress, socketText } from './listen.ts';

export interface HealthCheckedService {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  /** Distinct addresses of ready endpoints on this node. */
  readonly localEndpoints: number;
}

export interface BindFailure {
  readonly service: HealthCheckedService;
  /** `listen tcp4 0.0.0.0:30100: bind: address already in use` */
  readonly reason: string;
}

export interface ServiceHealthOptions {
  /** `0.0.0.0`, `::`, or the node addresses that node ports are restricted to. One family. */
  readonly addresses: readonly string[];
  readonly isProxyHealthy: () => boolean;
  /** No listener of the service is open now; the next sync tries again. Told once for each reason until one opens. */
  readonly onBindFailure: (failure: BindFailure) => void;
  /** The listeners of a service, as `namespace/name`, came or went. */
  readonly onChange?: (change: 'opened' | 'closed', service: string, port: number) => void;
}

export interface ListenerChanges {
  readonly close: readonly string[];
  readonly open: readonly HealthCheckedService[];
}

/** From the ports that are open, by service, to those wanted: a service that changed its port is closed and opened. */
export function listenerChanges(
  open: ReadonlyMap<string, number>,
  wanted: ReadonlyMap<string, HealthCheckedService>,
): ListenerChanges {
  return {
    close: [...open].filter(([key, port]) => wanted.get(key)?.port !== port).map(([key]) => key),
    open: [...wanted].filter(([key, { port }]) => open.get(key) !== port).map(([, service]) => service),
  };
}

/** The listeners of one IP family. */
export class ServiceHealthServers {
  readonly #options: ServiceHealthOptions;
  readonly #open = new Map<string, { readonly port: number; readonly servers: readonly Server[] }>();
  readonly #localEndpoints = new Map<string, number>();
  /** Why a service's listeners could not be opened. */
  readonly #failures = new Map<string, string>();
  #last: Promise<boolean> = Promise.resolve(true);

  constructor(options: ServiceHealthOptions) {
    this.#options = options;
  }

  /** Opens and closes listeners until they are those wanted; resolves to whether all are. Calls wait for each other. */
  sync(services: Iterable<HealthCheckedService>): Promise<boolean> {
    const wanted = new Map([...services].map((service) => [keyOf(service), service]));
    // Counts first, and at once: an open port must not go on saying what no longer holds while others are being opened.
    this.#localEndpoints.clear();
    for (const [key, { localEndpoints }] of wanted) this.#localEndpoints.set(key, localEndpoints);
    const reconcile = () => this.#reconcile(wanted);
    this.#last = this.#last.then(reconcile, reconcile);
    return this.#last;
  }

  async close(): Promise<void> {
    await this.sync([]);
  }

  async #reconcile(wanted: ReadonlyMap<string, HealthCheckedService>): Promise<boolean> {
    const ports = new Map([...this.#open].map(([key, { port }]) => [key, port]));
    const changes = listenerChanges(ports, wanted);
    await Promise.all(changes.close.map((key) => this.#closeListeners(key)));
    for (const key of this.#failures.keys()) if (!wanted.has(key)) this.#failures.delete(key);
    for (const service of changes.open) await this.#openListeners(service);
    return this.#failures.size === 0;
  }

  async #closeListeners(key: string): Promise<void> {
    const open = this.#open.get(key);
    if (!open) return;
    this.#open.delete(key);
    await Promise.all(open.servers.map(closeServer));
    this.#options.onChange?.('closed', key, open.port);
  }

  async #openListeners(service: HealthCheckedService): Promise<void> {
    const { addresses, onBindFailure } = this.#options;
    const servers: Server[] = [];
    for (const host of addresses) {
      const socket: SocketAddress = { host, port: service.port, isSingleFamily: true };
      try {
        servers.push(await listen(this.#answer(service), [socket]));
      } catch (error) {
        // Half a service's addresses would make its load balancer see two different nodes.
        await Promise.all(servers.map(closeServer));
        const network = familyOf(host) === 'IPv4' ? 'tcp4' : 'tcp6';
        const reason = goListenError(network, socketText(socket), error);
        if (this.#failures.get(keyOf(service)) !== reason) onBindFailure({ service, reason });
        this.#failures.set(keyOf(service), reason);
        return;
      }
    }
    this.#failures.delete(keyOf(service));
    this.#open.set(keyOf(service), { port: service.port, servers });
    this.#options.onChange?.('opened', keyOf(service), service.port);
  }

  #answer({ namespace, name }: HealthCheckedService): RequestListener {
    return (_, response) => {
      const localEndpoints = this.#localEndpoints.get(keyOf({ namespace, name })) ?? 0;
      const serviceProxyHealthy = this.#options.isProxyHealthy();
      const body = JSON.stringify({ service: { namespace, name }, localEndpoints, serviceProxyHealthy }, null, '\t');
      response.writeHead(localEndpoints > 0 && serviceProxyHealthy ? 200 : 503, {
        'Content-Type': 'application/json',
        'X-Content-Type-Options': 'nosniff',
        'X-Load-Balancing-Endpoint-Weight': localEndpoints,
        'Content-Length': Buffer.byteLength(body),
      });
      response.end(body);
    };
  }
}

/** What the event on the Service says. */
export function bindFailureNote(nodeName: string, { service, reason }: BindFailure): string {
  return `node ${nodeName} failed to start healthcheck "${keyOf(service)}" on port ${service.port}: ${reason}`;
}

function keyOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}
