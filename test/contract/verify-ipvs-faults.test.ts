// Whatever is taken from what IPVS mode has beside its rules, or added to it, is found and blamed. Held in memory: test/vm does the same to
// a kernel.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Balancer, Ruleset } from '../../src/observe/trace/ruleset.ts';
import type { CauseKind } from '../../src/observe/verify/cause.ts';
import type { Drift } from '../../src/observe/verify/drift.ts';
import { verify } from '../../src/observe/verify/verify.ts';
import { TestCluster } from '../support/cluster.ts';
import { GOLDEN_BASE, GOLDEN_NODES } from '../support/golden.ts';
import { FAULTY_CLUSTER, ipvsVerifyInput } from '../support/verify.ts';
import { facts } from '../vm/inside/bench.ts';

const FACTS = { ...facts({}, 'IPv4'), excludeCIDRs: ['198.18.0.0/15'] };
const { tracker } = new TestCluster().apply(...GOLDEN_NODES, ...GOLDEN_BASE, ...FAULTY_CLUSTER);
const HEALTHY = ipvsVerifyInput(tracker, FACTS).planned;

interface Fault {
  readonly title: string;
  readonly held: Ruleset;
  readonly finds: readonly (CauseKind | Drift['kind'])[];
  /** A part of the rule or row that is to blame; absent where no case depends on it. */
  readonly blames?: string;
}

const FAULTS: readonly Fault[] = [
  { title: 'nothing is wrong', held: HEALTHY, finds: [] },
  {
    title: 'a real server is taken away',
    held: withServer('tcp 10.96.1.1:80', ({ destinations, ...server }) => ({
      ...server,
      destinations: destinations.slice(1),
    })),
    finds: ['missing-row'],
    blames: '10.244.1.11:8080',
  },
  {
    title: 'a real server that is no endpoint is added',
    held: withServer('tcp 10.96.1.1:80', (server) => withBackend(server, '10.244.2.99', 1)),
    finds: ['stale-endpoint'],
    blames: '10.244.2.99:8080',
  },
  {
    title: 'a real server that goes waits for its last connection',
    held: withServer('tcp 10.96.1.1:80', (server) => withBackend(server, '10.244.2.99', 0)),
    finds: [],
  },
  {
    title: 'a real server gets no new connections',
    held: withServer('tcp 10.96.1.1:80', ({ destinations: [first, ...others], ...server }) => ({
      ...server,
      destinations: [{ ...first!, weight: 0, text: first!.text.replace('-w 1', '-w 0') }, ...others],
    })),
    finds: ['wrong-row'],
    blames: '10.244.1.11:8080 : -w 0',
  },
  {
    title: 'a virtual server is taken away',
    held: withoutServer('tcp 10.96.1.2:80'),
    finds: ['missing-row'],
    blames: 'TCP 10.96.1.2:80',
  },
  {
    title: 'a virtual server forgets its clients',
    held: withServer('tcp 10.96.1.2:80', (server) => ({
      ...server,
      isSticky: false,
      text: server.text.replace(/ -p \d+/, ''),
    })),
    finds: ['wrong-row'],
    blames: 'TCP 10.96.1.2:80 : -s rr',
  },
  {
    title: 'a virtual server of a Service that is gone is left',
    held: { ...HEALTHY, ...added('tcp 10.96.99.9:80'), addresses: new Set([...HEALTHY.addresses!, '10.96.99.9']) },
    finds: ['extra-row'],
  },
  { title: 'somebody else has a virtual server', held: { ...HEALTHY, ...added('tcp 192.0.2.80:80') }, finds: [] },
  {
    title: 'a virtual server in an excluded network is left alone',
    held: { ...HEALTHY, ...added('tcp 198.18.0.9:80') },
    finds: [],
  },
  {
    title: 'a set does not know a cluster IP',
    held: withoutEntry('KUBE-CLUSTER-IP', '10.96.1.1,tcp:80'),
    finds: ['missing-row'],
    blames: '10.96.1.1,tcp:80',
  },
  {
    title: 'a set does not know a node port',
    held: withoutEntry('KUBE-NODE-PORT-TCP', '30080'),
    finds: ['missing-row'],
    blames: '30080',
  },
  {
    title: 'a set does not know a source range',
    held: withoutEntry('KUBE-LOAD-BALANCER-SOURCE-CIDR', '203.0.113.10,tcp:80,172.20.0.0/25'),
    finds: ['missing-row'],
    blames: '172.20.0.0/25',
  },
  {
    title: 'an address is not guarded',
    held: withoutEntry('KUBE-LOAD-BALANCER-FW', '203.0.113.10,tcp:80'),
    finds: ['missing-row'],
    blames: '203.0.113.10,tcp:80',
  },
  {
    title: 'an endpoint that reaches itself is not masqueraded',
    held: withoutEntry('KUBE-LOOP-BACK', '10.244.1.11,tcp:8080,10.244.1.11'),
    finds: ['missing-row'],
    blames: '10.244.1.11,tcp:8080,10.244.1.11',
  },
  {
    title: 'the node lost an address of a Service',
    held: { ...HEALTHY, addresses: new Set([...HEALTHY.addresses!].filter((ip) => ip !== '10.96.1.2')) },
    finds: ['missing-row'],
    blames: '10.96.1.2',
  },
];

for (const { title, held, finds, blames } of FAULTS) {
  test(title, () => {
    const { mismatches, drift } = verify(ipvsVerifyInput(tracker, FACTS, held));
    const found = new Set([...mismatches.map(({ cause }) => cause.kind), ...drift.map(({ kind }) => kind)]);
    const all = JSON.stringify({ mismatches, drift }, undefined, 1);
    assert.deepEqual([...found], finds, all);
    assert.equal(mismatches.length > 0, blames !== undefined, all);
    for (const { cause } of mismatches) assert.ok(cause.rule?.includes(blames!), all);
  });
}

test('where only rules are known, what stands beside them is neither missed nor guessed', () => {
  const { family, tables } = HEALTHY;
  const { mismatches, unjudged, drift } = verify(ipvsVerifyInput(tracker, FACTS, { family, tables }));
  assert.deepEqual(drift, []);
  assert.ok(mismatches.length + unjudged.length > 0);
});

function withServer(key: string, change: (server: Balancer) => Balancer): Ruleset {
  const servers = new Map(HEALTHY.virtualServers!);
  return { ...HEALTHY, virtualServers: servers.set(key, change(servers.get(key)!)) };
}

function withoutServer(key: string): Ruleset {
  return { ...HEALTHY, virtualServers: new Map([...HEALTHY.virtualServers!].filter(([one]) => one !== key)) };
}

function added(key: string): Pick<Ruleset, 'virtualServers'> {
  const server = HEALTHY.virtualServers!.get('tcp 10.96.1.1:80')!;
  return { virtualServers: new Map(HEALTHY.virtualServers!).set(key, { ...server, name: key.toUpperCase() }) };
}

function withBackend(server: Balancer, ip: string, weight: number): Balancer {
  const text = `-r ${ip}:8080 -w ${weight}`;
  return { ...server, destinations: [...server.destinations, { ip, port: 8080, weight, text }] };
}

function withoutEntry(name: string, entry: string): Ruleset {
  const set = HEALTHY.ipSets!.get(name)!;
  assert.ok(set.entries.has(entry), `${name} has no ${entry}, but ${[...set.entries].join(' ')}`);
  const entries = new Set([...set.entries].filter((one) => one !== entry));
  return { ...HEALTHY, ipSets: new Map(HEALTHY.ipSets!).set(name, { ...set, entries }) };
}
