// What the console's tests share: a shop in the recorded clusters' network, an agent with its console in host n1, a way from
// this machine's loopback to it, and clients that keep dialling.
import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../support/agent.ts';
import { AgentBed } from '../support/agent-bed.ts';
import type { Manifest } from '../support/golden.ts';

const CONSOLE_PORT = 10253;

export interface BedOptions {
  readonly mode?: 'iptables' | 'nftables';
  readonly more?: readonly Manifest[];
  /** Over what the bed itself sets. */
  readonly portolan?: Readonly<Record<string, unknown>>;
}

export class ConsoleBed {
  readonly agents: AgentBed;
  readonly url: string;
  readonly #tunnel: net.Server;
  readonly #ending = new AbortController();
  readonly #clients: Promise<void>[] = [];

  static async open({ mode = 'iptables', more = [], portolan = {} }: BedOptions = {}): Promise<ConsoleBed> {
    const agents = await AgentBed.open();
    try {
      agents.apply(...SHOP, ...more);
      const quick = { minSyncPeriod: '100ms', syncPeriod: '1s' };
      await agents.startSynced({
        config: {
          mode,
          iptables: quick,
          nftables: quick,
          portolan: { consoleBindAddress: '127.0.0.1', serviceMetrics: true, ...portolan },
        },
      });
      await agents.agent.said(/Serving the console|The console needs a token/);
      const tunnel = await tunnelTo(agents);
      return new ConsoleBed(agents, tunnel);
    } catch (error) {
      await agents.close();
      throw error;
    }
  }

  private constructor(agents: AgentBed, tunnel: net.Server) {
    this.agents = agents;
    this.#tunnel = tunnel;
    this.url = `http://127.0.0.1:${(tunnel.address() as net.AddressInfo).port}/`;
  }

  /** A client that opens so many connections a second, until the bed is closed. */
  dial(from: string, to: string, perSecond: number): void {
    const keepDialling = async (): Promise<void> => {
      while (!this.#ending.signal.aborted) {
        await this.agents.network.probe({ from, proto: 'tcp', to, count: 1 }).catch(() => {});
        await delay(1000 / perSecond);
      }
    };
    this.#clients.push(keepDialling());
  }

  async json<Shape>(path: string): Promise<Shape> {
    const response = await fetch(new URL(path, this.url));
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Shape;
  }

  until(holds: () => boolean | Promise<boolean>, complaint: string): Promise<void> {
    return until(holds, 60_000, () => `${complaint}\n${this.agents.agent.log.slice(-2000)}`);
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.#clients);
    this.#tunnel.close();
    await this.agents.close();
  }
}

function tunnelTo({ network }: AgentBed): Promise<net.Server> {
  const tunnel = net.createServer(async (near) => {
    near.on('error', () => near.destroy());
    try {
      const far = await network.connect('n1', '127.0.0.1', CONSOLE_PORT);
      far.on('error', () => near.destroy());
      near.on('close', () => far.destroy());
      near.pipe(far).pipe(near);
    } catch {
      near.destroy();
    }
  });
  return new Promise((resolve) => tunnel.listen(0, '127.0.0.1', () => resolve(tunnel)));
}

interface Shop {
  readonly name: string;
  readonly ip: string;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly nodePort?: number;
  readonly status?: object;
}

export function shopService({ name, ip, spec = {}, nodePort, status }: Shop): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'shop', name },
    spec: {
      type: 'ClusterIP',
      clusterIP: ip,
      ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080, ...(nodePort && { nodePort }) }],
      ...spec,
    },
    ...(status && { status }),
  };
}

type Place = 'a1' | 'a2' | 'b1' | 'b2';
const IPS: Readonly<Record<Place, string>> = {
  a1: '10.244.1.11',
  a2: '10.244.1.12',
  b1: '10.244.2.11',
  b2: '10.244.2.12',
};

export function shopSlice(name: string, ready: readonly Place[], notReady: readonly Place[] = []): Manifest {
  const endpoint = (place: Place, isReady: boolean): object => ({
    addresses: [IPS[place]],
    conditions: { ready: isReady, serving: isReady, terminating: false },
    nodeName: place.startsWith('a') ? 'n1' : 'n2',
    zone: place.startsWith('a') ? 'za' : 'zb',
    targetRef: { kind: 'Pod', namespace: 'shop', name: `${name}-${place}` },
  });
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'shop', name: `${name}-x7k`, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: [...ready.map((place) => endpoint(place, true)), ...notReady.map((place) => endpoint(place, false))],
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  };
}

const SHOP: readonly Manifest[] = [
  shopService({
    name: 'storefront',
    ip: '10.96.10.1',
    nodePort: 30080,
    spec: {
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Cluster',
      loadBalancerSourceRanges: ['172.20.0.0/24'],
    },
    status: { loadBalancer: { ingress: [{ ip: '192.0.2.40' }] } },
  }),
  shopSlice('storefront', ['a1', 'b1', 'b2'], ['a2']),
  shopService({ name: 'cart', ip: '10.96.10.2' }),
  shopSlice('cart', ['a1', 'a2']),
  shopService({
    name: 'checkout',
    ip: '10.96.10.3',
    nodePort: 30090,
    spec: { type: 'NodePort', externalTrafficPolicy: 'Local', sessionAffinity: 'ClientIP' },
  }),
  shopSlice('checkout', ['a2', 'b1', 'b2']),
  shopService({ name: 'search', ip: '10.96.10.4', spec: { internalTrafficPolicy: 'Local' } }),
  shopSlice('search', ['b1'], ['b2']),
  shopService({ name: 'recommendations', ip: '10.96.10.5' }),
];
