// Clusters that nobody recorded, through the running agent: kinds of configuration, and what a kernel may take amiss. Packets meet the
// fate that was derived for them.
import { after, before, describe, test } from 'node:test';
import type { KubeObject } from '../../src/lab/apiserver/object.ts';
import { type ApiServer, startApiServer } from '../../src/lab/apiserver/server.ts';
import { golden as goldenTopology } from '../../src/lab/network/golden.ts';
import { Network } from '../../src/lab/network/network.ts';
import { TestAgent } from '../support/agent.ts';
import { derivedCases } from '../support/derived.ts';
import {
  type Expected,
  expectedIn,
  GOLDEN_BASE,
  GOLDEN_NODES,
  type GoldenCase,
  type GoldenProbe,
} from '../support/golden.ts';
import { meetsInTime } from '../support/golden-packets.ts';

/** One of each kind; the contract tests walk through all of them. */
const NAMES = [
  'detect-local-interface-prefix',
  'detect-local-nothing',
  'mark-bits',
  'no-localhost-node-ports',
  'node-port-addresses-all',
  'node-port-addresses-loopback',
  'one-address-two-services',
  'source-ranges',
  'two-families',
];
const CASES = derivedCases().filter(({ name }) => NAMES.includes(name));

for (const mode of ['iptables', 'nftables'] as const) {
  describe(`derived clusters through the agent in ${mode} mode`, () => {
    let network: Network;
    let server: ApiServer;
    before(async () => {
      network = await Network.open(goldenTopology);
      server = await startApiServer({ serviceCIDRs: ['10.96.0.0/12', 'fd00:10:96::/112'] });
      server.seed([...GOLDEN_NODES, ...GOLDEN_BASE] as KubeObject[]);
    });
    after(async () => {
      await server.close();
      await network.close();
    });

    for (const derived of CASES) {
      test(`${derived.name}: ${derived.about}`, async () => {
        const agent = await TestAgent.start(network, server, { config: { mode, ...derived.config } });
        try {
          await network.exec('n1', ['conntrack', '-F']);
          await play(network, server, agent, derived, mode);
        } finally {
          removeAll(server, derived);
          await agent.stop();
        }
      });
    }
  });
}

async function play(
  network: Network,
  server: ApiServer,
  agent: TestAgent,
  derived: GoldenCase,
  mode: 'iptables' | 'nftables',
): Promise<void> {
  for (const step of derived.steps) {
    for (const manifest of step.apply ?? [])
      server.apply({ ...(manifest.kind === 'Service' && NO_INGRESS), ...manifest } as unknown as KubeObject);
    await agent.settled();
    const byClient = Map.groupBy(step.probes ?? [], ({ from }) => from);
    await Promise.all([...byClient.values()].map((probes) => probeInTurn(network, probes, mode)));
  }
}

function removeAll(server: ApiServer, { steps }: GoldenCase): void {
  for (const { kind, metadata } of steps.flatMap(({ apply = [] }) => apply)) {
    const plural = `${kind.toLowerCase()}s`;
    const isThere = server.list(plural).some((held) => held.metadata.name === metadata.name);
    if (isThere) server.delete(plural, metadata.namespace ?? 'default', metadata.name);
  }
}

/** A Service that says nothing of its ingress addresses has none, also where it had some before. */
const NO_INGRESS = { status: { loadBalancer: {} } };

async function probeInTurn(
  network: Network,
  probes: readonly GoldenProbe[],
  mode: 'iptables' | 'nftables',
): Promise<void> {
  for (const probe of probes) {
    const expected = expectedIn(mode, probe);
    await meetsInTime(network, { ...probe, count: countFor(expected) }, expected);
  }
}

/** Often enough to meet each of two endpoints, but for once in millions. */
function countFor({ answered = {} }: Expected): number {
  return Object.keys(answered).length > 1 ? 25 : 3;
}
