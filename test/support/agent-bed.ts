// What the agent's packet tests share: a network, an API server, an agent in host n1, and what n1's kernel should hold.
// The last is planned from nothing out of all the server has and loaded in a host of its own, so that both sides of the
// comparison are the words of iptables-save.
import assert from 'node:assert/strict';
import { lastChainFirst } from '../../src/kernel/iptables.ts';
import type { KubeObject } from '../../src/lab/apiserver/object.ts';
import { type ApiServer, type ApiServerOptions, startApiServer } from '../../src/lab/apiserver/server.ts';
import { golden as goldenTopology } from '../../src/lab/network/golden.ts';
import { Network } from '../../src/lab/network/network.ts';
import { FAMILIES, type Family } from '../../src/lib/ip.ts';
import { resolveNode } from '../../src/model/resolve.ts';
import { plan } from '../../src/modes/iptables/plan.ts';
import { print } from '../../src/modes/iptables/print.ts';
import { type AgentOptions, TestAgent, until } from './agent.ts';
import { TestCluster } from './cluster.ts';
import { GOLDEN_BASE, GOLDEN_NODES, type Manifest, normalisedRules } from './golden.ts';
import { defaultFacts } from './iptables-node.ts';

/** A host without cables, for rules that are only to be read. */
const ORACLE = 'oracle';

export class AgentBed {
  readonly network: Network;
  readonly server: ApiServer;
  #agent: TestAgent | undefined;

  static async open(options: ApiServerOptions = {}): Promise<AgentBed> {
    const network = await Network.open({
      ...goldenTopology,
      hosts: [...goldenTopology.hosts, { name: ORACLE }],
    });
    const server = await startApiServer({ serviceCIDRs: ['10.96.0.0/12', 'fd00:10:96::/112'], ...options });
    server.seed([...GOLDEN_NODES, ...GOLDEN_BASE] as KubeObject[]);
    return new AgentBed(network, server);
  }

  private constructor(network: Network, server: ApiServer) {
    this.network = network;
    this.server = server;
  }

  get agent(): TestAgent {
    assert.ok(this.#agent, 'no agent was started');
    return this.#agent;
  }

  /** One agent after another; the one before is stopped. */
  async start(options: AgentOptions = {}): Promise<TestAgent> {
    await this.stop();
    this.#agent = await TestAgent.start(this.network, this.server, options);
    return this.#agent;
  }

  async startSynced(options: AgentOptions = {}): Promise<TestAgent> {
    const agent = await this.start(options);
    await agent.said(/"Synced" ipFamily="IPv4"/);
    await agent.said(/"Synced" ipFamily="IPv6"/);
    return agent;
  }

  async stop(signal?: NodeJS.Signals): Promise<number | null | undefined> {
    const agent = this.#agent;
    this.#agent = undefined;
    return agent?.stop(signal);
  }

  async close(): Promise<void> {
    await this.stop();
    await this.server.close();
    await this.network.close();
  }

  apply(...manifests: readonly Manifest[]): void {
    for (const manifest of manifests) this.server.apply(manifest as KubeObject);
  }

  delete(...manifests: readonly Manifest[]): void {
    for (const { kind, metadata } of manifests)
      this.server.delete(`${kind.toLowerCase()}s`, metadata.namespace ?? 'default', metadata.name);
  }

  /** Resolves when n1 holds exactly what the API server says. */
  async rulesFollow(timeoutMs = 60_000): Promise<void> {
    for (const family of FAMILIES) {
      const wanted = await this.#wantedRules(family);
      let held = '';
      const isHeld = async (): Promise<boolean> => {
        held = normalisedRules(await this.save(family));
        return held === wanted;
      };
      await until(isHeld, timeoutMs, () => {
        assert.equal(held, wanted, this.#agent?.log.slice(-3000));
        return 'the rules never came';
      });
    }
  }

  async save(family: Family, host = 'n1'): Promise<string> {
    const { stdout } = await this.network.exec(host, [`${program(family)}-save`]);
    return stdout;
  }

  async #wantedRules(family: Family): Promise<string> {
    const cluster = new TestCluster().apply(
      ...(['nodes', 'services', 'endpointslices'].flatMap((plural) =>
        this.server.list(plural),
      ) as unknown as Manifest[]),
    );
    const identity = {
      nodeName: 'n1',
      nodeIPs: { IPv4: '192.168.50.1', IPv6: 'fd00:50::1' },
      allowsExternalIPs: true,
    };
    const model = resolveNode(cluster.tracker.take(family), identity);
    const stdin = lastChainFirst(print(plan(model, defaultFacts(family))).split('\n')).join('\n');
    const { status, stderr } = await this.network.exec(ORACLE, [`${program(family)}-restore`], { stdin });
    assert.equal(status, 0, stderr);
    return normalisedRules(await this.save(family, ORACLE));
  }
}

function program(family: Family): string {
  return family === 'IPv4' ? 'iptables' : 'ip6tables';
}

export interface ServiceShape {
  readonly name: string;
  /** Cluster IP; the last number tells services apart. */
  readonly ip: string;
  readonly port?: number;
  readonly nodePort?: number;
  readonly protocol?: 'TCP' | 'UDP';
}

export function service({ name, ip, port = 80, nodePort, protocol = 'TCP' }: ServiceShape): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'test', name },
    spec: {
      type: nodePort === undefined ? 'ClusterIP' : 'NodePort',
      clusterIP: ip,
      ports: [{ name: 'p', port, protocol, targetPort: 8080, ...(nodePort !== undefined && { nodePort }) }],
    },
  };
}

export interface SliceShape {
  readonly protocol?: 'TCP' | 'UDP';
  readonly port?: number;
}

/** The slice of a service, with these endpoints ready. */
export function slice(
  name: string,
  ips: readonly string[],
  { protocol = 'TCP', port = 8080 }: SliceShape = {},
): Manifest {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'test', name, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: ips.map((ip) => ({
      addresses: [ip],
      nodeName: ip.startsWith('10.244.1.') ? 'n1' : 'n2',
      conditions: { ready: true },
    })),
    ports: [{ name: 'p', port, protocol }],
  };
}

/** Lines of a log with a severity above information. */
export function complaints(log: string): readonly string[] {
  return log.split('\n').filter((line) => /^[WEF]\d{4} /.test(line));
}
