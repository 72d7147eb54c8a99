// Verification against a real kernel: nothing to say about a healthy node, and every fault that is injected is found and blamed on
// the right thing.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ProcessResult, RunProcess } from '../../src/kernel/process.ts';
import { golden } from '../../src/lab/network/golden.ts';
import { Network } from '../../src/lab/network/network.ts';
import { resolveNode } from '../../src/model/resolve.ts';
import { endpointChain, serviceChains } from '../../src/modes/iptables/names.ts';
import { kernelRules } from '../../src/observe/live/kernel-rules.ts';
import { TRACE_MODES } from '../../src/observe/live/modes.ts';
import type { CauseKind } from '../../src/observe/verify/cause.ts';
import type { Drift } from '../../src/observe/verify/drift.ts';
import { type Mismatch, type VerifyReport, verify } from '../../src/observe/verify/verify.ts';
import { sync } from '../../src/pipeline.ts';
import { TestCluster } from '../support/cluster.ts';
import { GOLDEN_BASE, GOLDEN_NODES } from '../support/golden.ts';
import { defaultFacts, iptablesNode, runIn } from '../support/iptables-node.ts';
import { FAULTY_CLUSTER, inputOf, mismatchesInParts, N1, verifyInput } from '../support/verify.ts';

interface Fault {
  readonly title: string;
  /** Lines of shell; `iptables` is the host's own. */
  readonly inject: readonly string[];
  readonly finds: CauseKind | Drift['kind'];
  readonly also?: readonly Fault['finds'][];
  /** Takes back what restoring the rules does not. */
  readonly repair?: string;
}

const of = (name: string) =>
  ({ displayName: `demo/${name}:http`, protocol: 'TCP' }) as Parameters<typeof serviceChains>[0];
const SVC = serviceChains(of('plain')).cluster;
const SEP = endpointChain(of('plain'), '10.244.1.11:8080');
const SEP_B = endpointChain(of('plain'), '10.244.2.11:8080');
const STICKY = serviceChains(of('sticky')).cluster;
const FW = serviceChains(of('guarded')).firewall;
const EXT = serviceChains(of('local')).external;

const NAT = 'iptables -t nat';
const FAULTS: readonly Fault[] = [
  {
    title: 'the rule that dispatches a cluster IP is deleted',
    inject: [`${NAT} -D KUBE-SERVICES $(rule nat KUBE-SERVICES 10.96.1.1)`],
    finds: 'missing-rule',
  },
  {
    title: 'the rule that translates to an endpoint is deleted',
    inject: [`${NAT} -D ${SEP} 2`],
    finds: 'missing-rule',
  },
  { title: 'the hairpin rule of an endpoint is deleted', inject: [`${NAT} -D ${SEP} 1`], finds: 'missing-rule' },
  {
    title: 'the rule that marks clients that are no pods is deleted',
    inject: [`${NAT} -D ${SVC} 1`],
    finds: 'missing-rule',
  },
  {
    title: 'two balancing rules change places',
    inject: [`${NAT} -D ${SVC} 4`, `${NAT} -I ${SVC} 2 -j ${endpointChain(of('plain'), '10.244.2.12:8080')}`],
    finds: 'wrong-order',
  },
  {
    title: 'a balancing rule has the wrong probability',
    inject: [`${NAT} -R ${SVC} 2 -m statistic --mode random --probability 0.5 -j ${SEP}`],
    finds: 'wrong-probability',
  },
  {
    title: 'an endpoint too many is balanced over',
    inject: [
      `${NAT} -N KUBE-SEP-AAAAAAAAAAAAAAAA`,
      `${NAT} -A KUBE-SEP-AAAAAAAAAAAAAAAA -p tcp -j DNAT --to-destination 10.244.2.99:8080`,
      `${NAT} -I ${SVC} 2 -m statistic --mode random --probability 0.25 -j KUBE-SEP-AAAAAAAAAAAAAAAA`,
    ],
    finds: 'stale-endpoint',
    also: ['extra-chain'],
  },
  {
    title: 'an endpoint’s chain leads to where it was before',
    inject: [`${NAT} -R ${SEP_B} 2 -p tcp -j DNAT --to-destination 10.244.2.77:8080`],
    finds: 'stale-endpoint',
    also: ['missing-rule'],
  },
  {
    title: 'a Service that is gone is still answered',
    inject: [`${NAT} -A KUBE-SERVICES -d 10.96.99.99 -p tcp --dport 80 -j ${SVC}`],
    finds: 'extra-rule',
  },
  {
    title: 'a chain of a Service that is gone is left',
    inject: [`${NAT} -N KUBE-SVC-BBBBBBBBBBBBBBBB`],
    finds: 'extra-chain',
  },
  {
    title: 'somebody drops forwarded packets',
    inject: ['iptables -I FORWARD -p tcp --dport 8080 -j DROP'],
    finds: 'foreign-rule',
  },
  {
    title: 'somebody drops packets before they are tracked',
    inject: ['iptables -t raw -I PREROUTING -d 10.96.0.0/12 -j DROP'],
    finds: 'foreign-rule',
  },
  {
    title: 'somebody translates a cluster IP first',
    inject: [`${NAT} -I PREROUTING -d 10.96.1.1 -p tcp --dport 80 -j DNAT --to-destination 192.0.2.1:80`],
    finds: 'foreign-rule',
  },
  {
    title: 'somebody accepts packets before they are translated',
    inject: [`${NAT} -I OUTPUT -d 10.96.1.2 -j ACCEPT`],
    finds: 'foreign-rule',
  },
  {
    title: 'somebody masquerades what pods send',
    inject: [`${NAT} -I POSTROUTING -s 10.244.0.0/16 -j MASQUERADE`],
    finds: 'foreign-rule',
  },
  {
    title: 'somebody takes packets out of connection tracking',
    inject: ['iptables -t raw -I PREROUTING -d 10.96.1.1 -j NOTRACK'],
    finds: 'foreign-rule',
  },
  {
    title: 'somebody clears the masquerade mark',
    inject: ['iptables -t mangle -I POSTROUTING -j MARK --set-xmark 0x0/0xffffffff'],
    finds: 'foreign-rule',
  },
  { title: 'the policy of FORWARD is to drop', inject: ['iptables -P FORWARD DROP'], finds: 'foreign-policy' },
  { title: 'a service’s chain is flushed', inject: [`${NAT} -F ${SVC}`], finds: 'emptied-chain' },
  { title: 'KUBE-SERVICES is flushed', inject: [`${NAT} -F KUBE-SERVICES`], finds: 'emptied-chain' },
  {
    title: 'the whole nat table is flushed',
    inject: [`${NAT} -F`, `${NAT} -X`],
    finds: 'missing-rule',
    also: ['missing-chain'],
  },
  { title: 'the jump from PREROUTING is deleted', inject: [`${NAT} -D PREROUTING 1`], finds: 'missing-rule' },
  { title: 'the jump from POSTROUTING is deleted', inject: [`${NAT} -D POSTROUTING 1`], finds: 'missing-rule' },
  {
    title: 'the rejection of a Service without endpoints is deleted',
    inject: ['iptables -F KUBE-EXTERNAL-SERVICES'],
    finds: 'emptied-chain',
  },
  {
    title: 'the drop of a Service without local endpoints is replaced',
    inject: [
      'iptables -R KUBE-EXTERNAL-SERVICES $(rule filter KUBE-EXTERNAL-SERVICES 30081) -p tcp --dport 30081 -j REJECT',
    ],
    finds: 'missing-rule',
    also: ['extra-rule'],
  },
  { title: 'a source range is missing', inject: [`${NAT} -D ${FW} 1`], finds: 'missing-rule' },
  {
    title: 'everybody may use a guarded address',
    inject: [`${NAT} -I ${FW} -j ${serviceChains(of('guarded')).external}`],
    finds: 'extra-rule',
  },
  { title: 'the guard’s drop is deleted', inject: ['iptables -F KUBE-PROXY-FIREWALL'], finds: 'emptied-chain' },
  { title: 'the memory of session affinity is not asked', inject: [`${NAT} -D ${STICKY} 2`], finds: 'missing-rule' },
  {
    title: 'pods are no longer sent to all endpoints under policy Local',
    inject: [`${NAT} -D ${EXT} 1`],
    finds: 'missing-rule',
  },
  { title: 'masquerading returns at once', inject: [`${NAT} -I KUBE-POSTROUTING -j RETURN`], finds: 'extra-rule' },
  { title: 'the canary is gone', inject: ['iptables -t mangle -X KUBE-PROXY-CANARY'], finds: 'missing-chain' },
  { title: 'invalid packets are no longer dropped', inject: ['iptables -D KUBE-FORWARD 1'], finds: 'missing-rule' },
  {
    title: 'the other iptables translates too',
    inject: ['$other -t nat -A PREROUTING -d 10.96.1.1 -p tcp --dport 80 -j DNAT --to-destination 192.0.2.1:80'],
    finds: 'other-iptables',
    repair: '$other -t nat -F',
  },
  {
    title: 'the other iptables has an old copy of the proxy’s rules',
    inject: ['$other -t nat -N KUBE-SERVICES', '$other -t nat -A OUTPUT -j KUBE-SERVICES'],
    finds: 'second-copy',
    repair: '$other -t nat -F; $other -t nat -X',
  },
];

// `rule TABLE CHAIN WORD`: the number of the first rule that has the word; `$other`: the iptables that is not the host's own.
const PRELUDE = `
rule() { iptables -t $1 -S $2 | grep '^-A' | grep -n -m1 -- "$3" | cut -d: -f1; }
case "$(iptables --version)" in *legacy*) other=iptables-nft;; *) other=iptables-legacy;; esac
set -e
`;

/** Each command is run once. */
function remembering(run: RunProcess): RunProcess {
  const known = new Map<string, Promise<ProcessResult>>();
  return (program, args) => {
    const command = `${program} ${args.join(' ')}`;
    const result = known.get(command) ?? run(program, args);
    known.set(command, result);
    return result;
  };
}

describe('verification finds what is wrong in a kernel', () => {
  let network: Network;
  let healthy = '';
  const cluster = new TestCluster().apply(...GOLDEN_NODES, ...GOLDEN_BASE, ...FAULTY_CLUSTER);

  const shell = async (script: string): Promise<void> => {
    const { status, stderr } = await network.exec('n1', ['sh', '-c', `${PRELUDE}${script}`]);
    assert.equal(status, 0, stderr);
  };
  const report = async (): Promise<VerifyReport> => {
    const { ruleset } = await kernelRules('IPv4', TRACE_MODES.iptables, runIn(network, 'n1'));
    return verify(verifyInput(cluster.tracker, defaultFacts('IPv4'), ruleset));
  };

  /** Each Service by itself, of what concerns it in rules that are read once for all. */
  const mismatchesOneByOne = async (): Promise<readonly Mismatch[]> => {
    const run = remembering(runIn(network, 'n1'));
    return mismatchesInParts(resolveNode(cluster.tracker.take('IPv4'), N1), async (part, concern) => {
      const { ruleset } = await kernelRules('IPv4', { ...TRACE_MODES.iptables, concern }, run);
      return inputOf(part, defaultFacts('IPv4'), ruleset);
    });
  };

  before(async () => {
    network = await Network.open(golden);
    await sync(iptablesNode(network, cluster.tracker, 'IPv4', { variant: 'auto' }));
    healthy = (await network.exec('n1', ['iptables-save'])).stdout;
  });
  after(() => network.close());

  test('a healthy node has nothing to complain about', async () => {
    const { mismatches, drift, unjudged, cases } = await report();
    assert.deepEqual({ mismatches, drift, unjudged }, { mismatches: [], drift: [], unjudged: [] });
    assert.ok(cases > 30, `only ${cases} cases`);
    assert.deepEqual(await mismatchesOneByOne(), []);
  });

  for (const { title, inject, finds, also, repair } of FAULTS) {
    test(title, async () => {
      try {
        await shell(inject.join('\n'));
        const { mismatches, drift } = await report();
        const found = new Set([...mismatches.map(({ cause }) => cause.kind), ...drift.map(({ kind }) => kind)]);
        assert.deepEqual(
          [...found].sort(),
          [finds, ...(also ?? [])].sort(),
          JSON.stringify({ mismatches, drift }, undefined, 1),
        );
        assert.deepEqual(await mismatchesOneByOne(), mismatches);
      } finally {
        await shell(repair ?? 'iptables -t raw -F'); // a table that was not there before is not restored
        await network.exec('n1', ['iptables-restore'], { stdin: healthy });
      }
    });
  }

  test('after all repairs the node is healthy again', async () => {
    const { mismatches, drift } = await report();
    assert.deepEqual({ mismatches, drift }, { mismatches: [], drift: [] });
  });
});
