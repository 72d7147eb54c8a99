// Laws of the walker and of verification, for clusters and rules at random.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { LocalDetector } from '../../src/modes/local-detector.ts';
import { fraction, fractionText, isOne, probabilityOf, sum } from '../../src/observe/trace/fraction.ts';
import { parseIptablesSave } from '../../src/observe/trace/iptables-save.ts';
import type { Outcome } from '../../src/observe/trace/packet.ts';
import { Walker } from '../../src/observe/trace/walk.ts';
import { verification, verify } from '../../src/observe/verify/verify.ts';
import { TestCluster } from '../support/cluster.ts';
import { GOLDEN_BASE, GOLDEN_NODES } from '../support/golden.ts';
import { defaultFacts } from '../support/iptables-node.ts';
import { nftablesFacts } from '../support/nftables-node.ts';
import {
  ipvsVerifyInput,
  nftablesVerifyInput,
  userspaceFacts,
  userspaceVerifyInput,
  verifyInput,
} from '../support/verify.ts';
import { goldenHost, packetOf } from '../support/walker.ts';
import { anyCluster, anyForeignRules, type RandomService } from '../support/walker-cluster.ts';
import { facts as ipvsFacts } from '../vm/inside/bench.ts';

const anyDetector: fc.Arbitrary<LocalDetector> = fc.constantFrom(
  { kind: 'source', cidr: '10.244.0.0/16' },
  { kind: 'source', cidr: '10.244.1.0/24' },
  { kind: 'interface-prefix', prefix: 'pod-' },
  { kind: 'interface', name: 'pods' },
  { kind: 'none' },
);

const anyFacts = fc
  .record({
    detector: anyDetector,
    masqueradeAll: fc.boolean(),
    localhostNodePorts: fc.boolean(),
    nodePortAddresses: fc.constantFrom(
      { kind: 'all' } as const,
      { kind: 'some', ips: ['192.168.50.1'] } as const,
      { kind: 'some', ips: ['10.60.0.1', '127.0.0.1'] } as const,
    ),
  })
  .map((drawn) => ({ ...defaultFacts('IPv4'), ...drawn }));

const anyScheduler = fc.constantFrom('rr', 'wlc', 'sh', 'mh');

function clusterOf(services: readonly RandomService[]): TestCluster {
  return new TestCluster().apply(...GOLDEN_NODES, ...GOLDEN_BASE, ...services.flatMap(({ manifests }) => manifests));
}

test('planned rules do what the objects mean, for any cluster and any configuration', () => {
  fc.assert(
    fc.property(anyCluster(4), anyFacts, (services, facts) => {
      const report = verify(verifyInput(clusterOf(services).tracker, facts, undefined));
      assert.deepEqual(report.mismatches, []);
      assert.deepEqual(report.unjudged, []);
    }),
    { numRuns: 150 },
  );
});

test('so do the rows and rules of nftables mode', () => {
  fc.assert(
    fc.property(
      anyCluster(4),
      anyFacts,
      (services, { detector, masqueradeAll, nodePortAddresses, localhostNodePorts }) => {
        const drawn = { detector, masqueradeAll, nodePortAddresses, localhostNodePorts };
        const facts = { ...nftablesFacts('IPv4'), ...drawn };
        const report = verify(nftablesVerifyInput(clusterOf(services).tracker, facts, undefined));
        assert.deepEqual(report.mismatches, []);
        assert.deepEqual(report.unjudged, []);
      },
    ),
    { numRuns: 150 },
  );
});

test('so do the rules and relays of userspace mode', () => {
  fc.assert(
    fc.property(anyCluster(4), anyDetector, (services, detector) => {
      const facts = { ...userspaceFacts('IPv4'), detector };
      const report = verify(userspaceVerifyInput(clusterOf(services).tracker, facts));
      assert.deepEqual(report.mismatches, []);
      assert.deepEqual(report.unjudged, []);
    }),
    { numRuns: 100 },
  );
});

test('so do the rules, sets and virtual servers of IPVS mode', () => {
  fc.assert(
    fc.property(anyCluster(4), anyFacts, anyScheduler, (services, { detector, masqueradeAll }, scheduler) => {
      const facts = { ...ipvsFacts({}, 'IPv4'), detector, masqueradeAll, scheduler };
      const report = verify(ipvsVerifyInput(clusterOf(services).tracker, facts));
      assert.deepEqual(report.mismatches, []);
      assert.deepEqual(report.unjudged, []);
    }),
    { numRuns: 100 },
  );
});

test('verification in slices finds what it finds at once', () => {
  fc.assert(
    fc.property(anyCluster(3), fc.integer({ min: 1, max: 20 }), (services, slice) => {
      const input = verifyInput(clusterOf(services).tracker, defaultFacts('IPv4'), undefined);
      const slices = verification({ ...input, setup: { ...input.setup, masqueradeAll: true } }, slice);
      let pauses = 0;
      let step = slices.next();
      for (; !step.done; step = slices.next()) pauses++;
      const whole = verify({ ...input, setup: { ...input.setup, masqueradeAll: true } });
      assert.deepEqual(step.value, whole);
      assert.equal(pauses, Math.floor(whole.cases / slice));
    }),
    { numRuns: 30 },
  );
});

test('what can become of a packet adds up to one, whatever the rules leave open', () => {
  fc.assert(
    fc.property(anyCluster(3), anyForeignRules, (services, foreign) => {
      const { planned } = verifyInput(clusterOf(services).tracker, defaultFacts('IPv4'), undefined);
      const around = parseIptablesSave(restoreText(foreign), 'IPv4');
      const walker = new Walker({ family: 'IPv4', tables: [...around.tables, ...planned.tables] });
      for (const { clusterIP, protocol } of services) {
        for (const from of ['a1', 'x', 'n1']) {
          const proto = protocol === 'TCP' ? 'tcp' : 'udp';
          const outcomes = walker.walk(packetOf({ from, proto, to: `${clusterIP}:80` }), goldenHost('IPv4'));
          assertWhole(outcomes);
        }
      }
    }),
    { numRuns: 60 },
  );
});

test('a probability that stands for 1/n is read as exactly that, in each form it is printed in', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20_000 }), (n) => {
      const asKernel = (Math.round((1 / n) * 2 ** 31) / 2 ** 31).toFixed(11);
      for (const text of [(1 / n).toFixed(10), asKernel])
        assert.equal(fractionText(probabilityOf(text)!), fractionText(fraction(1, n)), text);
    }),
  );
});

/** A tree of answers: at each open question both branches are there, and without questions the shares sum up to one. */
function assertWhole(outcomes: readonly Outcome[], depth = 0): void {
  const open = outcomes.filter(({ conditions }) => conditions.length > depth);
  if (open.length === 0) {
    assert.ok(
      isOne(sum(outcomes.map(({ share }) => share))),
      outcomes.map(({ share }) => fractionText(share)).join(' '),
    );
    return;
  }
  const shares = new Set(open.map(({ conditions }) => conditions[depth]!.holds));
  assert.equal(shares.size, 2, 'a question with one answer is none');
}

function restoreText(rules: readonly string[]): string {
  return rules
    .map((rule) => {
      const [, , table, command, ...rest] = ['iptables', ...rule.split(' ')];
      return `*${table}\n${[command, ...rest].join(' ')}\nCOMMIT`;
    })
    .join('\n');
}
