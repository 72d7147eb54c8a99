// What holds of userspace mode for any history of a cluster, and of its balancer for any clients.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { NodeModel } from '../../src/model/model.ts';
import { resolveNode } from '../../src/model/resolve.ts';
import { Balancer } from '../../src/modes/userspace/balancer.ts';
import { diff, type UserspaceState } from '../../src/modes/userspace/diff.ts';
import type { UserspaceFacts } from '../../src/modes/userspace/facts.ts';
import { plan, type RelayBackend, type UserspacePlan } from '../../src/modes/userspace/plan.ts';
import { print } from '../../src/modes/userspace/print.ts';
import type { Rule } from '../../src/modes/userspace/rules.ts';
import { TestCluster } from '../support/cluster.ts';
import type { Manifest } from '../support/golden.ts';
import { randomSteps } from '../support/random-cluster.ts';

const IDENTITY = {
  nodeName: 'n1',
  nodeIPs: { IPv4: '192.168.50.1', IPv6: 'fd00:50::1' },
  allowsExternalIPs: true,
};
const FACTS: UserspaceFacts = {
  family: 'IPv4',
  bindAddress: '0.0.0.0',
  hostIp: '192.168.50.1',
  detector: { kind: 'source', cidr: '10.244.0.0/16' },
};
const NOTHING: UserspaceState = { kind: 'read', chains: new Set(), jumps: new Set() };

test('after any history, relays and rules are those of a fresh start, and no rule leads to a relay that does not run', () => {
  fc.assert(
    fc.property(randomSteps(6), (steps) => {
      const cluster = new TestCluster();
      const objects = new Map<string, Manifest>();
      const relays = new Map<string, string>();
      let rules: string[] = [];
      let model: NodeModel | undefined;
      let previous: UserspacePlan | undefined;
      for (const step of steps) {
        for (const manifest of step.delete) objects.delete(keyOf(manifest));
        for (const manifest of step.apply) objects.set(keyOf(manifest), manifest);
        cluster.delete(...step.delete).apply(...step.apply);
        model = resolveNode(cluster.tracker.take('IPv4'), IDENTITY, model);
        const held = step.forgets ? undefined : previous;
        const next = plan(model, FACTS, previous);
        const change = diff(held ?? NOTHING, next);
        previous = next;

        for (const { key, backends } of change.relays) relays.set(key, backends.map(({ address }) => address).join());
        if (change.isFull) rules = [];
        for (const rule of change.removedRules) rules.splice(indexOf(rules, rule), 1);
        rules.push(...change.addedRules.map(textOf));
        for (const key of change.stoppedRelays) relays.delete(key);

        const fresh = new TestCluster().apply(...objects.values());
        const wanted = plan(resolveNode(fresh.tracker.take('IPv4'), IDENTITY), FACTS);
        const parts = [...wanted.services.values()];
        assert.equal(print(next), print(wanted));
        assert.deepEqual(rules.toSorted(), parts.flatMap((part) => part.rules.map(textOf)).sort());
        assert.deepEqual(
          [...relays.keys()].sort(),
          [...new Set(parts.flatMap((part) => part.relays.map(({ key }) => key)))].sort(),
        );
        for (const rule of rules) assert.ok(relays.has(rule.split('|')[2]!), rule);
      }
    }),
    { numRuns: 150 },
  );
});

const pool = Array.from(
  { length: 6 },
  (_, i): RelayBackend => ({ ip: `10.0.0.${i}`, port: 80, address: `10.0.0.${i}:80` }),
);
const someBackends = fc.subarray(pool, { minLength: 1 });

test('turns are fair: no backend is ever more than one connection ahead', () => {
  fc.assert(
    fc.property(someBackends, fc.array(fc.string(), { maxLength: 40 }), (backends, clients) => {
      const balancer = new Balancer({ now: () => 0, random: () => 0.5 });
      balancer.set(backends, 0);
      const counts = new Map(backends.map(({ address }) => [address, 0]));
      for (const client of clients) {
        const { address } = balancer.choose(client)!;
        counts.set(address, counts.get(address)! + 1);
      }
      assert.ok(Math.max(...counts.values()) - Math.min(...counts.values()) <= 1);
    }),
  );
});

test('a sticky client never moves while its backend stays and answers, whatever else happens', () => {
  fc.assert(
    fc.property(fc.array(someBackends, { minLength: 1, maxLength: 8 }), (histories) => {
      const balancer = new Balancer({ now: () => 0, random: () => 0.5 });
      let home: RelayBackend | undefined;
      for (const backends of histories) {
        balancer.set(backends, 60);
        const isStill = home !== undefined && backends.includes(home);
        const chosen = balancer.choose('client')!;
        assert.ok(backends.includes(chosen));
        if (isStill) assert.equal(chosen, home);
        home = chosen;
        balancer.choose('somebody else');
      }
    }),
  );
});

function textOf({ chain, match, relay }: Rule): string {
  return `${chain}|${match}|${relay}`;
}

function indexOf(rules: readonly string[], rule: Rule): number {
  const index = rules.indexOf(textOf(rule));
  assert.ok(index >= 0, `a rule that does not stand is removed: ${textOf(rule)}`);
  return index;
}

function keyOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}
