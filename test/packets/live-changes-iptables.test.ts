// A Service that changes while it is used: after every change packets meet the right fate, and the kernel that was changed
// step by step holds what a kernel holds that was written at once.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { IptablesVariant } from '../../src/kernel/iptables.ts';
import { Iptables } from '../../src/kernel/iptables.ts';
import { golden } from '../../src/lab/network/golden.ts';
import { Network } from '../../src/lab/network/network.ts';
import { sync } from '../../src/pipeline.ts';
import { TestCluster } from '../support/cluster.ts';
import { GOLDEN_NODES, type Manifest, normalisedRules } from '../support/golden.ts';
import { type IptablesNode, iptablesNode, runIn } from '../support/iptables-node.ts';
import { serviceManifest, sliceManifest } from '../support/manifests.ts';

type Json = Readonly<Record<string, unknown>>;

const IPS = { a1: '10.244.1.11', a2: '10.244.1.12', b1: '10.244.2.11', b2: '10.244.2.12' };
type Pod = keyof typeof IPS;

const CLUSTER_IP = '10.96.7.1:80';
const NODE_PORT = '192.168.50.1:30080';
const LOAD_BALANCER = '203.0.113.7:80';
const WITH_NODE_PORT = { type: 'NodePort', ports: [{ name: 'http', port: 80, nodePort: 30080 }] };
const BALANCED = { ...WITH_NODE_PORT, type: 'LoadBalancer', healthCheckNodePort: 32555 };
const INGRESS = { loadBalancer: { ingress: [{ ip: '203.0.113.7' }] } };
const NOBODY = 'timeout'; // no rule knows the address, and the network behind drops it
const REJECTED = 'icmp-unreachable';

interface Change {
  readonly about: string;
  readonly apply?: readonly Manifest[];
  readonly delete?: readonly Manifest[];
  /** `x → 10.96.7.1:80`, and who answers it, seeing whom. */
  readonly expect: Readonly<Record<string, string>>;
}

const FROM_START = [web(), pods('a1', 'b1')];
const STORIES: Readonly<Record<string, readonly Change[]>> = {
  'endpoints come and go': [
    {
      about: 'three',
      apply: [web(), pods('a1', 'a2', 'b1')],
      expect: at('x', CLUSTER_IP, 'a1:8080 a2:8080 b1:8080 see node'),
    },
    { about: 'one', apply: [pods('b1')], expect: at('x', CLUSTER_IP, 'b1:8080 see node') },
    {
      about: 'four',
      apply: [pods('a1', 'a2', 'b1', 'b2')],
      expect: at('x', CLUSTER_IP, 'a1:8080 a2:8080 b1:8080 b2:8080 see node'),
    },
    { about: 'none', apply: [pods()], expect: { ...at('x', CLUSTER_IP, REJECTED), ...at('a1', CLUSTER_IP, REJECTED) } },
    { about: 'two', apply: [pods('a2', 'b2')], expect: at('a1', CLUSTER_IP, 'a2:8080 b2:8080 see client') },
    { about: 'no slice', delete: [pods()], expect: at('x', CLUSTER_IP, REJECTED) },
  ],
  'the type changes': [
    { about: 'ClusterIP', apply: FROM_START, expect: external('refused', NOBODY) },
    { about: 'NodePort', apply: [web(WITH_NODE_PORT)], expect: external('a1:8080 b1:8080 see node', NOBODY) },
    {
      about: 'LoadBalancer',
      apply: [web(BALANCED, INGRESS)],
      expect: external('a1:8080 b1:8080 see node', 'a1:8080 b1:8080 see node'),
    },
    {
      about: 'with source ranges',
      apply: [web({ ...BALANCED, loadBalancerSourceRanges: ['172.20.0.0/24'] }, INGRESS)],
      expect: external('a1:8080 b1:8080 see node', 'timeout'),
    },
    {
      about: 'LoadBalancer without node ports',
      apply: [web({ type: 'LoadBalancer' }, INGRESS)],
      expect: external('refused', 'a1:8080 b1:8080 see node'),
    },
    { about: 'ClusterIP again', apply: [web()], expect: external('refused', NOBODY) },
    { about: 'headless', apply: [web({ clusterIP: 'None' })], expect: at('x', CLUSTER_IP, NOBODY) },
    { about: 'and back', apply: [web()], expect: at('x', CLUSTER_IP, 'a1:8080 b1:8080 see node') },
  ],
  'ports and addresses change': [
    { about: 'at first', apply: FROM_START, expect: at('a2', CLUSTER_IP, 'a1:8080 b1:8080 see client') },
    {
      about: 'another service port',
      apply: [web({ ports: [{ name: 'http', port: 81 }] })],
      expect: { ...at('a2', '10.96.7.1:81', 'a1:8080 b1:8080 see client'), ...at('a2', CLUSTER_IP, NOBODY) },
    },
    {
      about: 'another target port',
      apply: [web(), podsOn(9090, 'a1', 'b1')],
      expect: at('a2', CLUSTER_IP, 'a1:9090 b1:9090 see client'),
    },
    {
      about: 'another port name',
      apply: [web({ ports: [{ name: 'web', port: 80 }] })],
      expect: at('a2', CLUSTER_IP, REJECTED),
    },
    {
      about: 'another cluster IP',
      apply: [web({ clusterIP: '10.96.7.2' })],
      expect: { ...at('a2', '10.96.7.2:80', 'a1:9090 b1:9090 see client'), ...at('a2', CLUSTER_IP, NOBODY) },
    },
    {
      about: 'an external IP',
      apply: [web({ externalIPs: ['203.0.113.9'] })],
      expect: at('x', '203.0.113.9:80', 'a1:9090 b1:9090 see node'),
    },
    {
      about: 'UDP beside TCP',
      apply: [
        web({
          ports: [
            { name: 'http', port: 80 },
            { name: 'http', port: 80, protocol: 'UDP' },
          ],
        }),
      ],
      expect: at('a2', CLUSTER_IP, 'a1:9090 b1:9090 see client'),
    },
  ],
  'policies change': [
    {
      about: 'Cluster',
      apply: [web(BALANCED, INGRESS), pods('a1', 'b1')],
      expect: external('a1:8080 b1:8080 see node', 'a1:8080 b1:8080 see node'),
    },
    {
      about: 'external Local',
      apply: [web({ ...BALANCED, externalTrafficPolicy: 'Local' }, INGRESS)],
      expect: {
        ...external('a1:8080 see client', 'a1:8080 see client'),
        ...at('a2', NODE_PORT, 'a1:8080 b1:8080 see client'),
      },
    },
    {
      about: 'external Local, none here',
      apply: [pods('b1')],
      expect: { ...external('timeout', 'timeout'), ...at('a2', NODE_PORT, 'b1:8080 see client') },
    },
    {
      about: 'internal Local too',
      apply: [web({ ...BALANCED, externalTrafficPolicy: 'Local', internalTrafficPolicy: 'Local' }, INGRESS)],
      expect: at('a2', CLUSTER_IP, 'timeout'),
    },
    {
      about: 'internal Local alone, one here',
      apply: [web({ ...BALANCED, internalTrafficPolicy: 'Local' }, INGRESS), pods('a1', 'b1')],
      expect: {
        ...at('a2', CLUSTER_IP, 'a1:8080 see client'),
        ...external('a1:8080 b1:8080 see node', 'a1:8080 b1:8080 see node'),
      },
    },
    { about: 'Cluster again', apply: [web()], expect: at('a2', CLUSTER_IP, 'a1:8080 b1:8080 see client') },
  ],
  'affinity and deletion': [
    { about: 'without', apply: FROM_START, expect: at('x', CLUSTER_IP, 'a1:8080 b1:8080 see node') },
    {
      about: 'on',
      apply: [web({ sessionAffinity: 'ClientIP' })],
      expect: at('x', CLUSTER_IP, 'one of a1:8080 b1:8080'),
    },
    {
      about: 'on, with another timeout',
      apply: [web({ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } } })],
      expect: at('x', CLUSTER_IP, 'one of a1:8080 b1:8080'),
    },
    { about: 'off', apply: [web()], expect: at('x', CLUSTER_IP, 'a1:8080 b1:8080 see node') },
    { about: 'deleted', delete: [web()], expect: at('x', CLUSTER_IP, NOBODY) },
    { about: 'made again', apply: [web()], expect: at('x', CLUSTER_IP, 'a1:8080 b1:8080 see node') },
    { about: 'deleted with its slice', delete: [web(), pods()], expect: at('x', CLUSTER_IP, NOBODY) },
  ],
};

for (const variant of ['nft', 'legacy'] as const) {
  describe(`a Service that changes while it is used, iptables-${variant}`, () => {
    let network: Network;
    before(async () => {
      network = await Network.open(golden);
      await network.add({ hosts: [{ name: 'fresh' }], links: [] });
    });
    after(() => network.close());

    for (const [story, changes] of Object.entries(STORIES)) {
      test(story, async (t) => {
        const live = new Live(network, variant);
        for (const change of changes) await t.test(change.about, () => live.play(change));
      });
    }

    test('rules that somebody flushed are all written again', async () => {
      const live = new Live(network, variant);
      await live.play({ about: '', apply: [web(BALANCED, INGRESS), pods('a1', 'b1')], expect: {} });
      for (const table of ['filter', 'nat', 'mangle']) {
        for (const flag of ['-F', '-X']) await network.exec('n1', [live.node.drivers.name, '-t', table, flag]);
      }
      assert.equal(await live.ask('x', CLUSTER_IP), NOBODY);
      live.node.held = undefined; // what the canary's watcher does
      await live.play({ about: '', expect: external('a1:8080 b1:8080 see node', 'a1:8080 b1:8080 see node') }, true);
    });

    test('after a refusal the next sync writes everything', async () => {
      const live = new Live(network, variant);
      await live.play({ about: '', apply: [web(), pods('a1', 'b1')], expect: {} });
      const chain = /(?<=-j )KUBE-SEP-\w+/.exec(await live.node.drivers.save('nat'))![0];
      const foreign = ['PREROUTING', '-t', 'nat', '-p', 'tcp', '--dport', '9', '-j', chain];
      await network.exec('n1', [live.node.drivers.name, '-A', ...foreign]);

      live.cluster.apply(pods('b2'));
      await assert.rejects(sync(live.node), /restore/, 'a chain that somebody else refers to cannot go');
      assert.equal(live.node.held, undefined);
      await network.exec('n1', [live.node.drivers.name, '-D', ...foreign]);
      await live.play({ about: '', apply: [pods('b2')], expect: at('x', CLUSTER_IP, 'b2:8080 see node') }, true);
    });

    test('stale chains go at the first sync, chains of others stay', async () => {
      const live = new Live(network, variant);
      await live.node.drivers.restore([
        '*nat',
        ':KUBE-SVC-AAAAAAAAAAAAAAAA - [0:0]',
        ':KUBE-SEP-AAAAAAAAAAAAAAAA - [0:0]',
        ':KUBE-KUBELET-CANARY - [0:0]',
        ':MY-KUBE-SVC-CHAIN - [0:0]',
        '-A KUBE-SVC-AAAAAAAAAAAAAAAA -j KUBE-SEP-AAAAAAAAAAAAAAAA',
        '-A KUBE-SEP-AAAAAAAAAAAAAAAA -j RETURN',
        'COMMIT',
      ]);
      live.cluster.apply(...FROM_START);
      await sync(live.node);
      const save = await live.node.drivers.save('nat');
      assert.doesNotMatch(save, /AAAAAAAA/);
      assert.match(save, /:KUBE-KUBELET-CANARY/);
      assert.match(save, /:MY-KUBE-SVC-CHAIN/);
      await live.flush('n1');
    });

    test('a cluster that grows large and small again loses no packet to its comments', async () => {
      const live = new Live(network, variant, (rules) =>
        rules.replace(/^(-A KUBE-S..-.*?) -m comment --comment ("[^"]*"|\S+)/gm, '$1'),
      );
      const many = Array.from({ length: 1000 }, (_, i) => ({ addresses: [`10.244.${8 + (i >> 8)}.${i & 255}`] }));
      const big = [serviceManifest('demo/big', { clusterIP: '10.96.7.99' }), sliceManifest('demo/big', many)];
      await live.play({ about: '', apply: FROM_START, expect: at('x', CLUSTER_IP, 'a1:8080 b1:8080 see node') });
      await live.play({ about: '', apply: big, expect: at('x', CLUSTER_IP, 'a1:8080 b1:8080 see node') });
      await live.play({
        about: '',
        apply: [pods('a1', 'b2')],
        expect: at('x', CLUSTER_IP, 'a1:8080 b2:8080 see node'),
      });
      assert.doesNotMatch(
        await live.node.drivers.save('nat'),
        /"demo\/web:http -> /,
        'written while the cluster is large',
      );
      await live.play({
        about: '',
        delete: big,
        apply: [pods('a1', 'b1')],
        expect: at('x', CLUSTER_IP, 'a1:8080 b1:8080 see node'),
      });
      assert.match(await live.node.drivers.save('nat'), /"demo\/web:http -> /);
    });
  });
}

/** One node that is changed step by step, and one beside it that is written at once. */
class Live {
  readonly cluster = new TestCluster().apply(...GOLDEN_NODES);
  readonly node: IptablesNode;
  readonly #network: Network;
  readonly #variant: IptablesVariant;
  readonly #comparable: (rules: string) => string;
  readonly #manifests = new Map<string, Manifest>();
  #isFirst = true;

  constructor(network: Network, variant: IptablesVariant, comparable = (rules: string) => rules) {
    this.#network = network;
    this.#variant = variant;
    this.#comparable = comparable;
    this.node = iptablesNode(network, this.cluster.tracker, 'IPv4', { variant });
  }

  async play(change: Change, isFull = this.#isFirst): Promise<void> {
    this.cluster.delete(...(change.delete ?? [])).apply(...(change.apply ?? []));
    for (const manifest of change.delete ?? []) this.#manifests.delete(keyOf(manifest));
    for (const manifest of change.apply ?? []) this.#manifests.set(keyOf(manifest), manifest);
    if (this.#isFirst) await this.flush('n1');
    this.#isFirst = false;
    const { wasFull } = await sync(this.node);
    assert.equal(wasFull, isFull);
    assert.equal(await this.#rules(this.node), await this.#freshRules());
    await this.#network.exec('n1', ['conntrack', '-F']);
    await Promise.all(Object.entries(change.expect).map(([question, answer]) => this.#check(question, answer)));
  }

  async #check(question: string, answer: string): Promise<void> {
    const [from, to] = question.split(' → ') as [string, string];
    const given = await this.ask(from, to);
    if (answer.startsWith('one of ')) assert.match(given, RegExp(`^(${answer.slice(7).replace(' ', '|')}) see node$`));
    else assert.equal(given, answer, question);
  }

  async ask(from: string, to: string): Promise<string> {
    const { answered, failed } = await this.#network.probe({ from, proto: 'tcp', to, count: 50 });
    if (!answered) return (failed ?? []).join(' ');
    return `${Object.keys(answered).join(' ')} see ${[...new Set(Object.values(answered).flat())].join(' ')}${failed ? ` but ${failed}` : ''}`;
  }

  async flush(host: string): Promise<void> {
    const tables = ['mangle', 'filter', 'nat'].map((table) => `*${table}\nCOMMIT\n`).join('');
    await this.#network.exec(host, [`${this.node.drivers.name}-restore`], { stdin: tables });
  }

  async #freshRules(): Promise<string> {
    await this.flush('fresh');
    const { tracker } = new TestCluster().apply(...GOLDEN_NODES, ...this.#manifests.values());
    const fresh = iptablesNode(this.#network, tracker, 'IPv4', { variant: this.#variant });
    const drivers = new Iptables('IPv4', this.#variant, runIn(this.#network, 'fresh'));
    const node = { ...fresh, drivers };
    await sync(node);
    return this.#rules(node);
  }

  async #rules({ drivers }: IptablesNode): Promise<string> {
    return this.#comparable(normalisedRules(await drivers.save()));
  }
}

function keyOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}

function web(spec: Json = {}, status: Json = {}): Manifest {
  return serviceManifest('demo/web', { clusterIP: '10.96.7.1', ...spec }, status);
}

function pods(...names: readonly Pod[]): Manifest {
  return podsOn(8080, ...names);
}

function podsOn(port: number, ...names: readonly Pod[]): Manifest {
  const endpoints = names.map((name) => ({ addresses: [IPS[name]], nodeName: name.startsWith('a') ? 'n1' : 'n2' }));
  return sliceManifest('demo/web', endpoints, { ports: [{ name: 'http', port }] });
}

function at(from: string, to: string, answer: string): Readonly<Record<string, string>> {
  return { [`${from} → ${to}`]: answer };
}

function external(nodePort: string, loadBalancer: string): Readonly<Record<string, string>> {
  return { ...at('x', NODE_PORT, nodePort), ...at('x', LOAD_BALANCER, loadBalancer) };
}
