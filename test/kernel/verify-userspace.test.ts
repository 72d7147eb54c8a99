// Verification of userspace mode on a node at work: nothing to say while it is healthy, and every fault is found and blamed on the right
// thing.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { golden } from '../../src/lab/network/golden.ts';
import { Network } from '../../src/lab/network/network.ts';
import { kernelRules } from '../../src/observe/live/kernel-rules.ts';
import { TRACE_MODES } from '../../src/observe/live/modes.ts';
import { runningRelays } from '../../src/observe/live/userspace-rules.ts';
import type { CauseKind } from '../../src/observe/verify/cause.ts';
import type { Drift } from '../../src/observe/verify/drift.ts';
import { type VerifyReport, verify } from '../../src/observe/verify/verify.ts';
import { UserspaceNode } from '../packets/userspace-node.ts';
import { TestCluster } from '../support/cluster.ts';
import { GOLDEN_BASE, GOLDEN_NODES } from '../support/golden.ts';
import { runIn } from '../support/iptables-node.ts';
import { FAULTY_CLUSTER, userspaceFacts, userspaceVerifyInput } from '../support/verify.ts';

interface Fault {
  readonly title: string;
  /** Lines of shell. */
  readonly inject: readonly string[];
  readonly finds: readonly (CauseKind | Drift['kind'])[];
  readonly blames?: RegExp;
}

const NAT = 'iptables -t nat';
const FAULTS: readonly Fault[] = [
  {
    title: 'the rule that leads a cluster IP to its relay is deleted',
    inject: [`${NAT} -D KUBE-PORTALS-CONTAINER $(rule nat KUBE-PORTALS-CONTAINER 10.96.1.1/32)`],
    finds: ['missing-rule'],
    blames: /-d 10\.96\.1\.1\/32|-d 10\.96\.1\.1 /,
  },
  {
    title: 'the node’s own connections to a cluster IP are not led anywhere',
    inject: [`${NAT} -D KUBE-PORTALS-HOST $(rule nat KUBE-PORTALS-HOST 10.96.1.2/32)`],
    finds: ['missing-rule'],
    blames: /KUBE-PORTALS-HOST.*10\.96\.1\.2/,
  },
  {
    title: 'a rule leads to a port where no relay is',
    inject: [
      `${NAT} -R KUBE-PORTALS-CONTAINER $(rule nat KUBE-PORTALS-CONTAINER 10.96.1.1/32) -d 10.96.1.1/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 192.168.50.1:9`,
    ],
    finds: ['missing-rule', 'stale-endpoint'],
    blames: /192\.168\.50\.1:9$/,
  },
  {
    title: 'a rule leads to the relay of another Service',
    inject: [
      `other=$(${NAT} -S KUBE-PORTALS-CONTAINER | grep 10.96.1.2/32 | sed 's/.*://')`,
      `${NAT} -R KUBE-PORTALS-CONTAINER $(rule nat KUBE-PORTALS-CONTAINER 10.96.1.1/32) -d 10.96.1.1/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 192.168.50.1:$other`,
    ],
    finds: ['extra-rule', 'missing-rule'],
  },
  {
    title: 'a source range that nobody asked for may use a guarded address',
    inject: [
      `relay=$(${NAT} -S KUBE-PORTALS-CONTAINER | grep 203.0.113.10/32 | sed 's/.*://')`,
      `${NAT} -A KUBE-PORTALS-CONTAINER -d 203.0.113.10/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 192.168.50.1:$relay`,
    ],
    finds: ['extra-rule'],
  },
  { title: 'a chain is flushed', inject: [`${NAT} -F KUBE-NODEPORT-CONTAINER`], finds: ['emptied-chain'] },
  {
    title: 'the jump from PREROUTING is deleted',
    inject: [`${NAT} -D PREROUTING $(rule nat PREROUTING KUBE-PORTALS-CONTAINER)`],
    finds: ['missing-rule'],
  },
  {
    title: 'somebody drops what comes to the node',
    inject: ['iptables -I INPUT -p tcp -m tcp --dport 30000:65535 -j DROP'],
    finds: ['foreign-rule'],
    blames: /-j DROP/,
  },
  {
    title: 'somebody drops what relays send',
    inject: ['iptables -I OUTPUT -p tcp -d 10.244.2.11 --dport 8080 -j DROP'],
    finds: ['foreign-rule'],
    blames: /OUTPUT.*10\.244\.2\.11/,
  },
];

// `rule TABLE CHAIN WORD`: the number of the first rule that has the word.
const PRELUDE = `
rule() { iptables -t $1 -S $2 | grep '^-A' | grep -n -m1 -- "$3" | cut -d: -f1; }
set -e
`;

describe('verification finds what is wrong on a node in userspace mode', () => {
  let network: Network;
  let node: UserspaceNode;
  let healthy = '';
  const manifests = [...GOLDEN_NODES, ...GOLDEN_BASE, ...FAULTY_CLUSTER];
  const { tracker } = new TestCluster().apply(...manifests);

  const shell = async (script: string): Promise<void> => {
    const { status, stderr } = await network.exec('n1', ['sh', '-c', `${PRELUDE}${script}`]);
    assert.equal(status, 0, stderr);
  };
  const report = async (listening?: ReadonlySet<string>): Promise<VerifyReport> => {
    const { ruleset, text } = await kernelRules('IPv4', TRACE_MODES.userspace, runIn(network, 'n1'));
    const input = userspaceVerifyInput(tracker, userspaceFacts('IPv4'), text);
    return verify({ ...input, held: { ...ruleset, relays: runningRelays(input.planned.relays, listening) } });
  };

  before(async () => {
    network = await Network.open(golden);
    node = await UserspaceNode.start(network);
    await node.sync(manifests);
    healthy = (await network.exec('n1', ['iptables-save'])).stdout;
  });
  after(async () => {
    await node.close();
    await network.close();
  });

  test('a healthy node has nothing to complain about', async () => {
    const { mismatches, drift, unjudged, cases } = await report();
    assert.deepEqual({ mismatches, drift, unjudged }, { mismatches: [], drift: [], unjudged: [] });
    assert.ok(cases > 30, `only ${cases} cases`);
  });

  for (const { title, inject, finds, blames } of FAULTS) {
    test(title, async () => {
      try {
        await shell(inject.join('\n'));
        const { mismatches, drift } = await report();
        const found = new Set([...mismatches.map(({ cause }) => cause.kind), ...drift.map(({ kind }) => kind)]);
        const all = JSON.stringify({ mismatches, drift }, undefined, 1);
        assert.deepEqual([...found].sort(), finds, all);
        if (blames) assert.match(mismatches[0]!.cause.rule!, blames, all);
      } finally {
        await network.exec('n1', ['iptables-restore'], { stdin: healthy });
      }
    });
  }

  test('relays that do not run are told', async () => {
    const { mismatches, drift } = await report(new Set());
    const kinds = new Set(mismatches.map(({ cause }) => cause.kind));
    assert.deepEqual([[...kinds], drift], [['dead-relay'], []]);
    assert.match(mismatches[0]!.cause.rule!, /the relay of .* on port \d+: nobody listens there/);
  });
});
