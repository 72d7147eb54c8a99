// Every recorded cluster through the running agent: objects at a real HTTP API, packets and pages at the other end.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { KubeObject } from '../../src/lab/apiserver/object.ts';
import { type ApiServer, startApiServer } from '../../src/lab/apiserver/server.ts';
import { golden as goldenTopology } from '../../src/lab/network/golden.ts';
import { Network } from '../../src/lab/network/network.ts';
import { TestAgent, until } from '../support/agent.ts';
import {
  expectedIn,
  GOLDEN_BASE,
  GOLDEN_NODES,
  type GoldenCase,
  type GoldenProbe,
  goldenCases,
  type Manifest,
  normalisedRules,
  recordedRules,
} from '../support/golden.ts';
import { meetsInTime } from '../support/golden-packets.ts';

const MODES = ['iptables', 'nftables'] as const;
type ModeUnderTest = (typeof MODES)[number];

for (const mode of MODES) {
  describe(`recorded clusters through the agent in ${mode} mode`, () => {
    let network: Network;
    let server: ApiServer;
    let agent: TestAgent | undefined;
    let config = '';
    before(async () => {
      network = await Network.open(goldenTopology);
      server = await startApiServer({ serviceCIDRs: ['10.96.0.0/12', 'fd00:10:96::/112'] });
      server.seed([...GOLDEN_NODES, ...GOLDEN_BASE] as KubeObject[]);
    });
    after(async () => {
      await agent?.stop();
      await server.close();
      await network.close();
    });

    for (const golden of goldenCases()) {
      test(`${golden.name}: ${golden.about}`, async () => {
        const wanted = JSON.stringify(golden.config ?? {});
        if (!agent || wanted !== config) {
          await agent?.stop();
          agent = await TestAgent.start(network, server, { config: { mode, ...golden.config } });
          config = wanted;
        }
        await play(network, server, agent, golden, mode);
      });
    }
  });
}

async function play(
  network: Network,
  server: ApiServer,
  agent: TestAgent,
  golden: GoldenCase,
  mode: ModeUnderTest,
): Promise<void> {
  await network.exec('n1', ['conntrack', '-F']);
  const applied = new Map<string, Manifest>();
  for (const [i, step] of golden.steps.entries()) {
    for (const manifest of step.delete ?? []) remove(server, manifest);
    for (const manifest of step.apply ?? []) {
      server.apply(replacement(manifest));
      applied.set(`${manifest.kind} ${manifest.metadata.namespace}/${manifest.metadata.name}`, manifest);
    }
    if (mode === 'iptables') await rulesOf(network, agent, golden, i);
    else await agent.settled();
    await delay((step.wait ?? 0) * 1000);
    const byClient = Map.groupBy(step.probes ?? [], ({ from }) => from);
    await Promise.all([...byClient.values()].map((probes) => probeInTurn(network, probes, mode)));
  }
  for (const manifest of applied.values()) remove(server, manifest);
}

/** Resolves when the kernel holds what was recorded of upstream. */
async function rulesOf(network: Network, agent: TestAgent, golden: GoldenCase, step: number): Promise<void> {
  for (const [family, program] of [['IPv4', 'iptables-save'] as const, ['IPv6', 'ip6tables-save'] as const]) {
    const recorded = recordedRules(golden, step, family);
    let held = '';
    let wanted = '';
    const isThere = async (): Promise<boolean> => {
      const save = (await network.exec('n1', [program])).stdout;
      const hasCounters = save.includes('--nfacct-name'); // the agent makes them wherever the kernel can
      held = normalisedRules(save, hasCounters);
      wanted = normalisedRules(recorded, hasCounters);
      return held === wanted;
    };
    await until(isThere, 60_000, () => {
      assert.equal(held, wanted, agent.log.slice(-2000));
      return 'the rules never came';
    });
  }
}

async function probeInTurn(network: Network, probes: readonly GoldenProbe[], mode: ModeUnderTest): Promise<void> {
  for (const probe of probes) await meetsInTime(network, probe, expectedIn(mode, probe));
}

/** Replaced as a whole: a Service that says nothing of its ingress addresses has none. */
function replacement(manifest: Manifest): KubeObject {
  return (manifest.kind === 'Service' ? { status: { loadBalancer: {} }, ...manifest } : manifest) as KubeObject;
}

function remove(server: ApiServer, { kind, metadata }: Manifest): void {
  server.delete(`${kind.toLowerCase()}s`, metadata.namespace ?? 'default', metadata.name);
}
