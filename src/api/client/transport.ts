// Connections to one API server: TCP or TLS, direct or through a proxy, kept alive, and replaced when the certificates they
// were made with have changed.
import { type AgentOptions, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, connect as connectTls, createSecureContext, getCACertificates } from 'node:tls';
import type { ApiConfig } from './config.ts';
import type { Identity } from './credentials.ts';
import { ApiError } from './error.ts';
import type { ApiLog } from './log.ts';
import { proxyFor } from './proxy.ts';
import { dialThrough } from './tunnel.ts';

/** The kernel probes a silent connection after this time and gives it up 10 s later (libuv: 10 probes, 1 s apart). */
const TCP_KEEPALIVE_MS = 30_000;

export class Transport {
  readonly #tls: ApiConfig['tls'];
  readonly #log: ApiLog;
  readonly #proxy: URL | undefined;
  readonly #isTls: boolean;
  #agent: HttpAgent | undefined;
  #identity: Identity | undefined;

  constructor(config: ApiConfig, env: NodeJS.ProcessEnv, log: ApiLog) {
    const server = new URL(config.server);
    this.#tls = config.tls;
    this.#log = log;
    this.#proxy = proxyFor(server, config.proxyUrl, env);
    this.#isTls = server.protocol === 'https:';
  }

  /** The agent that speaks as this identity. Running streams of an earlier one go on until they end. */
  agentFor(identity: Identity): HttpAgent {
    if (this.#agent && this.#identity && hasSameKeys(this.#identity, identity)) return this.#agent;
    const previous = this.#agent;
    try {
      this.#agent = this.#isTls ? this.#tlsAgent(identity) : new PlainAgent(this.#proxy, AGENT_OPTIONS);
    } catch (cause) {
      // A certificate and its key are two files: between the two writes they do not match.
      const problem = `the certificate, key or CA cannot be used: ${(cause as Error).message}`;
      if (!previous) throw new ApiError({ code: 'API_CREDENTIALS', message: problem, cause });
      this.#log.error('Cannot use changed certificate files; those read before stay in use', { err: problem });
      return previous;
    }
    this.#identity = identity;
    if (previous) {
      this.#log.info('Certificate files changed; new connections use them', {});
      closeIdle(previous);
    }
    return this.#agent;
  }

  close(): void {
    this.#agent?.destroy();
  }

  #tlsAgent({ ca, certificate, key }: Identity): HttpsAgent {
    const roots = ca ?? (this.#tls.insecureSkipVerify ? undefined : systemRoots());
    const secureContext = createSecureContext({
      ...(roots === undefined ? {} : { ca: roots }),
      ...(certificate === undefined ? {} : { cert: certificate }),
      ...(key === undefined ? {} : { key }),
    });
    return new TlsAgent(this.#proxy, {
      ...AGENT_OPTIONS,
      secureContext,
      rejectUnauthorized: !this.#tls.insecureSkipVerify,
      ALPNProtocols: ['http/1.1'],
      ...(this.#tls.serverName === '' ? {} : { servername: this.#tls.serverName }),
    });
  }
}

const AGENT_OPTIONS: AgentOptions = { keepAlive: true, keepAliveMsecs: TCP_KEEPALIVE_MS, maxFreeSockets: 2 };

function hasSameKeys(a: Identity, b: Identity): boolean {
  return a.ca === b.ca && a.certificate === b.certificate && a.key === b.key;
}

/** Node carries its own roots; operators expect the host's, as for every other program on it. */
function systemRoots(): string[] {
  const roots = getCACertificates('system');
  return roots.length > 0 ? roots : getCACertificates('default');
}

function closeIdle(agent: HttpAgent): void {
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

interface Target {
  readonly host?: string | null | undefined;
  readonly port?: number | string | null | undefined;
}
type Connected = (error: Error | null, socket: Duplex) => void;

class PlainAgent extends HttpAgent {
  readonly #proxy: URL | undefined;
  constructor(proxy: URL | undefined, options: AgentOptions) {
    super(options);
    this.#proxy = proxy;
  }

  override createConnection(
    options: Parameters<HttpAgent['createConnection']>[0],
    connected: Connected,
  ): Duplex | null | undefined {
    if (!this.#proxy) return super.createConnection(options, connected);
    dial(this.#proxy, options, (socket) => socket, connected);
    return undefined;
  }
}

class TlsAgent extends HttpsAgent {
  readonly #proxy: URL | undefined;
  constructor(proxy: URL | undefined, options: ConstructorParameters<typeof HttpsAgent>[0]) {
    super(options);
    this.#proxy = proxy;
  }

  override createConnection(
    options: Parameters<HttpsAgent['createConnection']>[0],
    connected: Connected,
  ): Duplex | null | undefined {
    if (!this.#proxy) return super.createConnection(options, connected);
    dial(this.#proxy, options, (socket) => connectTls({ ...options, socket } as ConnectionOptions), connected);
    return undefined;
  }
}

function dial(proxy: URL, target: Target, wrap: (socket: Socket) => Duplex, connected: Connected): void {
  dialThrough(proxy, target.host ?? '', Number(target.port)).then(
    (socket) => {
      socket.setKeepAlive(true, TCP_KEEPALIVE_MS); // direct sockets get it from the agent's options
      connected(null, wrap(socket));
    },
    (error: Error) => connected(error, undefined as unknown as Duplex),
  );
}
