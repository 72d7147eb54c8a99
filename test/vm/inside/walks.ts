// Packets walked through what a kernel with IPVS holds: rules, sets, addresses and virtual servers, as read over netlink. They do what the
// objects mean, and whatever is taken away or added by others is blamed.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { RunProcess } from '../../../src/kernel/process.ts';
import type { Family } from '../../../src/lib/ip.ts';
import { besideRules } from '../../../src/observe/live/ipvs-rules.ts';
import { kernelRules } from '../../../src/observe/live/kernel-rules.ts';
import { TRACE_MODES } from '../../../src/observe/live/modes.ts';
import { parseIptablesSave } from '../../../src/observe/trace/iptables-save.ts';
import type { Beside, Ruleset } from '../../../src/observe/trace/ruleset.ts';
import type { CauseKind } from '../../../src/observe/verify/cause.ts';
import type { Drift } from '../../../src/observe/verify/drift.ts';
import { type VerifyReport, verify } from '../../../src/observe/verify/verify.ts';
import { TestCluster } from '../../support/cluster.ts';
import { GOLDEN_BASE, GOLDEN_NODES } from '../../support/golden.ts';
import { FAULTY_CLUSTER, ipvsVerifyInput } from '../../support/verify.ts';
import { ANCHORS } from './anchors.ts';
import { type Bench, facts } from './bench.ts';

interface Fault {
  readonly title: string;
  readonly inject: string;
  readonly finds: CauseKind | Drift['kind'];
  /** A part of the rule or row that is to blame. */
  readonly blames: string;
  readonly repair: string;
}

const FAULTS: readonly Fault[] = [
  {
    title: 'a real server is taken away',
    inject: 'ipvsadm -d -t 10.96.1.1:80 -r 10.244.2.11:8080',
    finds: 'missing-row',
    blames: '10.244.2.11:8080',
    repair: 'ipvsadm -a -t 10.96.1.1:80 -r 10.244.2.11:8080 -m -w 1',
  },
  {
    title: 'a set does not know a cluster IP',
    inject: 'ipset del KUBE-CLUSTER-IP 10.96.1.1,tcp:80',
    finds: 'missing-row',
    blames: '10.96.1.1,tcp:80',
    repair: 'ipset add KUBE-CLUSTER-IP 10.96.1.1,tcp:80',
  },
  {
    title: 'somebody drops what comes in',
    inject: 'iptables -I INPUT -d 10.96.1.1 -p tcp -j DROP',
    finds: 'foreign-rule',
    blames: '-d 10.96.1.1',
    repair: 'iptables -D INPUT -d 10.96.1.1 -p tcp -j DROP',
  },
];

const MANIFESTS = [...GOLDEN_NODES, ...GOLDEN_BASE, ...ANCHORS, ...FAULTY_CLUSTER];

export function walkTests(bench: () => Bench): void {
  const { tracker } = new TestCluster().apply(...MANIFESTS);
  const held = async (): Promise<Ruleset> => ({
    ...parseIptablesSave(await bench().host.run('iptables-save'), 'IPv4'),
    ...(await besideRules(bench().host, 'IPv4')),
  });
  const report = (rules: Ruleset): VerifyReport => verify(ipvsVerifyInput(tracker, facts({}, 'IPv4'), rules));
  const run: RunProcess = async (program, args) => {
    const { status, stdout, stderr } = await bench().world.exec({ host: 'n1', argv: [program, ...args] });
    return { status: status ?? -1, stdout, stderr };
  };

  before(async () => {
    bench().node.facts = (family) => facts({}, family);
    bench().cluster.apply(...FAULTY_CLUSTER);
    await bench().node.sync();
  });
  after(async () => {
    bench().cluster.delete(...FAULTY_CLUSTER);
    await bench().node.sync();
  });

  test('what the kernel holds does what the objects mean', async () => {
    const beside = (family: Family): Promise<Beside> => besideRules(bench().host, family);
    const { ruleset } = await kernelRules('IPv4', TRACE_MODES.ipvs, run, 'listed', beside);
    const { mismatches, drift, unjudged, cases } = report(ruleset);
    assert.deepEqual({ mismatches, drift, unjudged }, { mismatches: [], drift: [], unjudged: [] });
    assert.ok(cases > 30, `only ${cases} cases`);
  });

  for (const { title, inject, finds, blames, repair } of FAULTS) {
    test(`${title}, and is blamed`, async () => {
      const { host } = bench();
      try {
        await host.run(...inject.split(' '));
        const { mismatches, drift } = report(await held());
        const found = new Set([...mismatches.map(({ cause }) => cause.kind), ...drift.map(({ kind }) => kind)]);
        const all = JSON.stringify({ mismatches, drift }, undefined, 1);
        assert.deepEqual([...found], [finds], all);
        for (const { cause } of mismatches) assert.ok(cause.rule?.includes(blames), all);
      } finally {
        await host.run(...repair.split(' '));
      }
    });
  }

  test('real servers count what they were given', async () => {
    await bench().world.probePackets({ from: 'x', proto: 'tcp', to: '10.96.1.1:80', count: 6 });
    const counts = async (): Promise<readonly (number | undefined)[]> => {
      const { virtualServers } = await besideRules(bench().host, 'IPv4');
      return virtualServers!.get('tcp 10.96.1.1:80')!.destinations.map(({ connections }) => connections);
    };
    // The kernel sums up every other second.
    for (let tries = 0; tries < 60 && !(await counts()).every(Boolean); tries++) await delay(500);
    assert.ok((await counts()).every(Boolean));
  });
}
