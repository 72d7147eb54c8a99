// The embedded API server: everything wired together behind one port on loopback. Real kubectl, the agent and its tests
// talk to it over HTTP; the lab and the tests also hold it in their hands, as the object returned here.
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { type Family, familyOf } from '../../lib/ip.ts';
import type { Access } from './access.ts';
import { trackAllocations } from './allocations.ts';
import { startControllers } from './controllers/controllers.ts';
import type { PodRuntime } from './controllers/pods.ts';
import { type DeleteOptions, remove } from './deletion.ts';
import { Faults } from './faults.ts';
import { firstObjects } from './first-objects.ts';
import { faultAnswer, type HandlerSettings, handle } from './handler.ts';
import { apply, listed, type Selection } from './hands.ts';
import type { ConnectToNode } from './node-proxy.ts';
import type { KubeObject } from './object.ts';
import { Pages } from './read.ts';
import type { ApiRequest } from './request.ts';
import { resourceNamed } from './resources.ts';
import { type Listener, Store } from './store.ts';
import type { WatchStream } from './watch.ts';
import type { ClusterFacts, World } from './world.ts';

export interface ApiServerOptions {
  /** 0, the default, takes any free port. */
  readonly port?: number;
  readonly host?: string;
  readonly tls?: { readonly key: string; readonly cert: string };
  /** With tokens, every request needs one and may do what its rules say. */
  readonly access?: readonly Access[];
  /** The first one's family is the primary one. */
  readonly serviceCIDRs?: readonly string[];
  readonly loadBalancerCIDRs?: readonly string[];
  readonly nodePortRange?: { readonly first: number; readonly last: number };
  /** How many changes per resource a watch may go back. */
  readonly watchWindow?: number;
  readonly firstVersion?: number;
  readonly bookmarkIntervalMs?: number;
  /** Runs the pods. With it deployments, scheduling, endpoints and load balancer addresses work by themselves. */
  readonly runtime?: PodRuntime;
  /** Where the API server itself is reached inside the cluster; with it there is a Service default/kubernetes. */
  readonly advertise?: { readonly ip: string; readonly port: number };
  /** How programs on nodes are reached; with it there is `/api/v1/nodes/NAME:PORT/proxy`. */
  readonly connectToNode?: ConnectToNode;
  /** Told of every request for resources that is allowed, before any fault. */
  readonly onRequest?: (request: ApiRequest) => void;
  /** Told of what goes wrong in controllers; they try again by themselves. */
  readonly onProblem?: (problem: unknown) => void;
  readonly now?: () => Date;
}

export interface ApiServer {
  readonly url: string;
  readonly port: number;
  readonly world: World;
  readonly faults: Faults;
  /** Creates the object, or replaces it; its status too, and its namespace if it is missing. */
  apply(object: KubeObject): KubeObject;
  seed(objects: readonly KubeObject[]): void;
  get(plural: string, namespace: string | undefined, name: string): KubeObject | undefined;
  list(plural: string, selection?: Selection): KubeObject[];
  /** True if there was one. It may stay a while, as over HTTP. */
  delete(plural: string, namespace: string | undefined, name: string, options?: DeleteOptions): boolean;
  /** Calls back after every change of a kind, until the returned function is called. */
  watch(plural: string, listener: Listener): () => void;
  close(): Promise<void>;
}

export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const world = newWorld(options);
  const streams = new Set<WatchStream>();
  const pages = new Pages();
  const sockets = new Set<Socket>();
  let port = options.port ?? 0;
  const host = options.host ?? '127.0.0.1';

  const cutConnections = () => {
    for (const socket of sockets) socket.destroy();
  };
  const listen = async () => {
    await listening(server, port, host);
    port = (server.address() as AddressInfo).port;
  };
  const faults = new Faults({
    cutConnections,
    async refuseConnections() {
      const closed = closing(server);
      cutConnections();
      await closed;
    },
    acceptConnections: () => (server.listening ? Promise.resolve() : listen()),
    forgetChanges() {
      world.store.forgetChanges();
      pages.clear();
    },
    rewriteHistory(firstVersion) {
      world.store.rewriteHistory(firstVersion);
      pages.clear();
    },
    resumeStreams: () => {
      for (const stream of streams) stream.flush();
    },
    failStreams({ resource }, status) {
      for (const stream of streams)
        if ((resource ?? stream.resource) === stream.resource) stream.fail(faultAnswer(status));
    },
    sendBookmarks: () => {
      for (const stream of streams) stream.bookmark();
    },
  });

  const settings: HandlerSettings = {
    world,
    pages,
    faults,
    streams,
    access: options.access,
    runtime: options.runtime,
    onRequest: options.onRequest,
    connectToNode: options.connectToNode,
    bookmarkIntervalMs: options.bookmarkIntervalMs ?? 60_000,
  };
  const listener: RequestListener = (message, response) => void handle(settings, message, response);
  const server = options.tls ? createTlsServer(options.tls, listener) : createServer(listener);
  server.keepAliveTimeout = 90_000; // longer than any client keeps an idle connection for its next request
  server.requestTimeout = 0; // a watch is one request, and it may last for hours
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('close', () => sockets.delete(socket));
  });
  await listen();
  const controllers = startControllers(world, options.runtime, options.onProblem ?? (() => {}));

  return {
    url: `${options.tls ? 'https' : 'http'}://${host}:${port}`,
    port,
    world,
    faults,
    apply: (object) => apply(world, object),
    seed: (objects) => {
      for (const object of objects) apply(world, object);
    },
    get: (plural, namespace, name) => world.store.get(resourceNamed(plural).storage, namespace, name)?.object,
    list: (plural, selection = {}) => listed(world, resourceNamed(plural), selection),
    delete(plural, namespace, name, deleteOptions) {
      const resource = resourceNamed(plural);
      if (!world.store.get(resource.storage, namespace, name)) return false;
      remove(world, resource, namespace, name, deleteOptions);
      return true;
    },
    watch: (plural, watcher) => world.store.listen(resourceNamed(plural).storage, watcher),
    async close() {
      await controllers.stop();
      const closed = server.listening ? closing(server) : Promise.resolve();
      cutConnections();
      await closed;
    },
  };
}

function newWorld(options: ApiServerOptions): World {
  const store = new Store(options.watchWindow ?? 1000, options.firstVersion ?? 1);
  const serviceCIDRs = options.serviceCIDRs ?? ['10.96.0.0/12', 'fd00:10:96::/112'];
  const facts: ClusterFacts = {
    families: [...new Set(serviceCIDRs.map((cidr): Family => familyOf(cidr)))],
    loadBalancerCIDRs: options.loadBalancerCIDRs ?? ['203.0.113.0/24', '2001:db8:113::/120'],
    nodePortRange: options.nodePortRange ?? { first: 30000, last: 32767 },
  };
  const world: World = { store, facts, now: options.now ?? (() => new Date()), allocations: trackAllocations(store) };
  for (const object of firstObjects(serviceCIDRs, options.advertise)) apply(world, object);
  return world;
}

function listening(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function closing(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
