// Three ways to say the same: what objects mean, the rules planned for them, and upstream's recorded rules. They must agree in
// every case that verification asks about.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAMILIES } from '../../src/lib/ip.ts';
import { parseIptablesSave } from '../../src/observe/trace/iptables-save.ts';
import { verify } from '../../src/observe/verify/verify.ts';
import { TestCluster } from '../support/cluster.ts';
import { GOLDEN_BASE, GOLDEN_NODES, goldenCases, recordedRules } from '../support/golden.ts';
import { goldenFacts } from '../support/iptables-node.ts';
import { verifyInput } from '../support/verify.ts';

for (const golden of goldenCases()) {
  test(`${golden.name}: objects, planned rules and upstream’s rules mean the same`, () => {
    const cluster = new TestCluster().apply(...GOLDEN_NODES, ...GOLDEN_BASE);
    for (const [i, step] of golden.steps.entries()) {
      cluster.delete(...(step.delete ?? [])).apply(...(step.apply ?? []));
      for (const family of FAMILIES) {
        const recorded = recordedRules(golden, i, family);
        const facts = {
          ...goldenFacts(golden, family),
          counters: { invalidDropped: true, localhostNodePorts: family === 'IPv4' },
        };
        const input = verifyInput(cluster.tracker, facts, parseIptablesSave(recorded, family));
        const report = verify(input);
        assert.deepEqual(report.mismatches, []);
        assert.deepEqual(report.unjudged, []);
        assert.deepEqual(report.drift, []);
        if (family === 'IPv4') assert.ok(report.cases > 0);
      }
    }
  });
}
