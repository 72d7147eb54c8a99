// The walker against the kernel: clusters and surrounding rules at random, walked through what the kernel says it holds, and then
// asked with real packets. Who answers, who refuses, and whose address is seen must be as predicted.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { golden } from '../../src/lab/network/golden.ts';
import { Network } from '../../src/lab/network/network.ts';
import type { PacketResult } from '../../src/lab/network/probe.ts';
import { kernelRules } from '../../src/observe/live/kernel-rules.ts';
import { TRACE_MODES, type TraceMode } from '../../src/observe/live/modes.ts';
import type { Ruleset } from '../../src/observe/trace/ruleset.ts';
import { Walker } from '../../src/observe/trace/walk.ts';
import { sync } from '../../src/pipeline.ts';
import { TestCluster } from '../support/cluster.ts';
import { GOLDEN_BASE, GOLDEN_NODES, patient } from '../support/golden.ts';
import { iptablesNode, runIn } from '../support/iptables-node.ts';
import { NftablesRemote } from '../support/nftables-remote.ts';
import { userspaceFacts, userspaceVerifyInput } from '../support/verify.ts';
import { goldenHost, type ProbeLike, packetOf, predicted } from '../support/walker.ts';
import { anyCluster, anyForeignRules, type RandomService } from '../support/walker-cluster.ts';
import { UserspaceNode } from './userspace-node.ts';

const CLUSTERS = 3;
const SERVICES = 2;
const SEED = 20261115;

const samples = fc.sample(fc.tuple(anyCluster(SERVICES), anyForeignRules), { seed: SEED, numRuns: CLUSTERS });

describe('what the walker says and what packets do', () => {
  let network: Network;
  let remote: NftablesRemote;
  before(async () => {
    network = await Network.open(golden);
    await network.exec('n1', ['sysctl', '-qw', 'net.ipv4.conf.all.route_localnet=1']);
    remote = await NftablesRemote.start(network, 'n1');
  });
  after(async () => {
    await remote?.stop();
    await network.close();
  });

  for (const [i, [services, foreign]] of samples.entries()) {
    const around = `in cluster ${i + 1}, with ${foreign.length} rules of others around`;
    const manifests = [...GOLDEN_NODES, ...GOLDEN_BASE, ...services.flatMap((service) => service.manifests)];

    test(`agree in iptables mode, ${around}`, async () => {
      await reset(network);
      await sync(iptablesNode(network, new TestCluster().apply(...manifests).tracker, 'IPv4'));
      await askAll(network, services, foreign, TRACE_MODES.iptables);
    });

    test(`agree in nftables mode, ${around}`, async () => {
      await reset(network);
      await remote.tell({ restarts: true, apply: manifests });
      await askAll(network, services, foreign, TRACE_MODES.nftables);
    });

    test(`agree in userspace mode, ${around}`, async () => {
      await reset(network);
      const node = await UserspaceNode.start(network);
      try {
        await node.sync(manifests);
        const { tracker } = new TestCluster().apply(...manifests);
        const relays = (text: string): Ruleset['relays'] =>
          userspaceVerifyInput(tracker, userspaceFacts('IPv4'), text).planned.relays;
        await askAll(network, services, foreign, TRACE_MODES.userspace, relays);
      } finally {
        await node.close();
      }
    });
  }
});

async function askAll(
  network: Network,
  services: readonly RandomService[],
  foreign: readonly string[],
  mode: TraceMode,
  relaysIn?: (heldText: string) => Ruleset['relays'],
): Promise<void> {
  for (const rule of foreign) await network.exec('n1', ['iptables-nft', ...rule.split(' ')]);
  const { ruleset, text } = await kernelRules('IPv4', mode, runIn(network, 'n1'));
  const relays = relaysIn?.(text);
  const walker = new Walker({ ...ruleset, ...(relays && { relays }) });
  const byClient = Map.groupBy(services.flatMap(questions), ({ from }) => from);
  await Promise.all(
    [...byClient.values()].map(async (probes) => {
      for (const probe of probes) {
        const said = predicted(walker.walk(packetOf(probe), goldenHost('IPv4')));
        assertAgrees(said, await network.probe(patient(probe, said)), JSON.stringify({ probe, foreign }));
      }
    }),
  );
}

async function reset(network: Network): Promise<void> {
  await network.exec('n1', ['nft', 'flush', 'ruleset']);
  await network.exec('n1', ['conntrack', '-F']);
}

function questions(service: RandomService): readonly (ProbeLike & { readonly count: number })[] {
  const proto = service.protocol.toLowerCase() as 'tcp' | 'udp';
  const targets = [
    `${service.clusterIP}:80`,
    ...(service.nodePort ? [`192.168.50.1:${service.nodePort}`] : []),
    ...(service.externalIP ? [`${service.externalIP}:80`] : []),
    ...(service.loadBalancerIP ? [`${service.loadBalancerIP}:80`] : []),
  ];
  return targets.flatMap((to) => [
    ...['a1', 'a2', 'b2', 'n1'].map((from) => ({ from, proto, to, count: 30 })),
    { from: 'x', proto, to, bind: '172.20.0.5', count: 30 },
  ]);
}

/** A probe stops at its second failure, so where some packets fail it may not have met all who answer. */
function assertAgrees(said: ReturnType<typeof predicted>, was: PacketResult, message: string): void {
  const all = `${message}\npredicted ${JSON.stringify(said)}\nobserved ${JSON.stringify(was)}`;
  const mayStick = Object.keys(was.answered ?? {}).length === 1;
  if (!said.failed && !mayStick) {
    assert.deepEqual(
      { answered: was.answered, failed: was.failed },
      { answered: said.answered, failed: undefined },
      all,
    );
    return;
  }
  if (!said.answered) assert.deepEqual(was.answered, undefined, all);
  for (const [endpoint, seen] of Object.entries(was.answered ?? {})) {
    for (const source of seen) assert.ok(said.answered?.[endpoint]?.includes(source), all);
  }
  for (const failure of was.failed ?? []) assert.ok(said.failed?.includes(failure), all);
}
