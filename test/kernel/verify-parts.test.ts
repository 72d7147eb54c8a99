// Clusters at random in a real kernel: verified one Service after the other, of what concerns each, nothing is wrong with any of them,
// whatever they share with others. Seeded, so that each run asks the same.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { continueInSandbox } from '../../src/lab/sandbox.ts';
import { FAMILIES, type Family } from '../../src/lib/ip.ts';
import type { NodeModel } from '../../src/model/model.ts';
import { resolveNode } from '../../src/model/resolve.ts';
import { iptablesMode } from '../../src/modes/iptables/iptables.ts';
import { ipvsMode } from '../../src/modes/ipvs/ipvs.ts';
import { nftablesMode } from '../../src/modes/nftables/nftables.ts';
import { type Concern, isConcerned } from '../../src/observe/live/concern.ts';
import { plannedIpvs } from '../../src/observe/live/ipvs-rules.ts';
import { kernelRules } from '../../src/observe/live/kernel-rules.ts';
import { TRACE_MODES } from '../../src/observe/live/modes.ts';
import type { Ruleset } from '../../src/observe/trace/ruleset.ts';
import type { VerifyInput } from '../../src/observe/verify/verify.ts';
import { TestCluster } from '../support/cluster.ts';
import { GOLDEN_NODES, type Manifest } from '../support/golden.ts';
import { defaultFacts } from '../support/iptables-node.ts';
import { nftablesFacts } from '../support/nftables-node.ts';
import { randomSteps } from '../support/random-cluster.ts';
import { inputOf, ipvsInputOf, mismatchesInParts, N1, nftablesInputOf } from '../support/verify.ts';
import { anyCluster } from '../support/walker-cluster.ts';
import { facts as ipvsFacts } from '../vm/inside/bench.ts';

continueInSandbox(import.meta.url);

const SEED = 4711;
const CLUSTERS: readonly (readonly Manifest[])[] = [
  ...fc
    .sample(anyCluster(8), { numRuns: 4, seed: SEED })
    .map((services) => services.flatMap(({ manifests }) => manifests)),
  // Of few names and addresses, so that Services claim the same ones.
  ...fc.sample(randomSteps(8, 6), { numRuns: 8, seed: SEED }).map((steps) => steps.flatMap(({ apply }) => apply)),
];
const MODELS = CLUSTERS.flatMap((manifests) => {
  const { tracker } = new TestCluster().apply(...GOLDEN_NODES, ...manifests);
  return FAMILIES.map((family) => resolveNode(tracker.take(family), N1));
});

type Input = (part: NodeModel, concern: Concern) => Promise<VerifyInput>;

async function assertHealthy(inputFor: (model: NodeModel) => Input): Promise<void> {
  for (const model of MODELS) assert.deepEqual(await mismatchesInParts(model, inputFor(model)), []);
}

after(() => execFileSync('nft', ['flush', 'ruleset']));

test('in nftables mode', async () => {
  await assertHealthy((model) => {
    const { family } = model;
    const facts = nftablesFacts(family);
    load(['nft', '-f', '-'], nftablesMode.print(nftablesMode.plan(model, facts)));
    return async (part, concern) => {
      const { ruleset } = await kernelRules(family, { ...TRACE_MODES.nftables, concern });
      return nftablesInputOf(part, facts, ruleset);
    };
  });
});

test('in iptables mode', async () => {
  await assertHealthy((model) => {
    const { family } = model;
    const facts = defaultFacts(family);
    load([restore(family)], iptablesMode.print(iptablesMode.plan(model, facts)));
    return async (part, concern) => {
      const { ruleset } = await kernelRules(family, { ...TRACE_MODES.iptables, concern });
      return inputOf(part, facts, ruleset);
    };
  });
});

test('in IPVS mode, as it is planned, with the virtual servers that would be read', async () => {
  await assertHealthy((model) => {
    const facts = ipvsFacts({}, model.family);
    const all = plannedIpvs(ipvsMode.plan(model, facts));
    return async (part, concern) => ipvsInputOf(part, facts, withServers(all, concern));
  });
});

function withServers({ virtualServers = new Map(), ...rules }: Ruleset, concern: Concern): Ruleset {
  const concerned = [...virtualServers].filter(([key]) => {
    const [, ip, port] = /^\S+ \[?(.+?)\]?:(\d+)$/.exec(key)!;
    return isConcerned(concern, ip!, Number(port));
  });
  return { ...rules, virtualServers: new Map(concerned) };
}

function load([program, ...args]: readonly string[], input: string): void {
  execFileSync('nft', ['flush', 'ruleset']);
  execFileSync(program!, args, { input });
}

function restore(family: Family): string {
  return family === 'IPv4' ? 'iptables-restore' : 'ip6tables-restore';
}
