// Clusters with the text that upstream's kube-proxy makes of them, byte for byte.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IptablesFacts } from '../../src/modes/iptables/facts.ts';
import { plan } from '../../src/modes/iptables/plan.ts';
import type { Manifest } from '../support/golden.ts';
import { serviceManifest } from '../support/manifests.ts';
import { modelOf, serviceText, textOf, type WorkedExample, workedExample, workedExamples } from '../support/worked.ts';

const PARTIAL = 'partial-with-stale-chain';
const BASE = 'clusterip-and-no-endpoints';

for (const name of workedExamples().filter((example) => example !== PARTIAL)) {
  test(`${name}: the text equals upstream's`, () => {
    const { manifests, facts, rules } = workedExample(name);
    assert.equal(textOf(manifests, facts), rules);
  });
}

test("without the chains of the service that did not change, the text equals upstream's partial one", () => {
  const { manifests, facts, rules } = workedExample(PARTIAL);
  const text = serviceText(plan(modelOf(manifests), facts), ['KUBE-SEP-TNSLX2JRL5P3JKSB']);
  const menu = [
    'KUBE-SVC-XJRRE3DM4WWVUA5A',
    ...(text.match(/KUBE-SEP-\w+(?= -m comment --comment shop\/menu)/g) ?? []),
  ];
  const isMenu = (line: string): boolean => menu.some((chain) => RegExp(`^(:|-A )${chain} `).test(line));
  const withoutMenu = text.split('\n').filter((line) => !isMenu(line));
  assert.equal(withoutMenu.join('\n'), rules);
});

test('masquerading everything drops the source from the rule that marks', () =>
  assertVariant({ masqueradeAll: true }, [[MASQUERADE(' ! -s 10.66.0.0/16'), MASQUERADE('')]]));

test('without a detector nothing is marked on the way to a cluster IP', () =>
  assertVariant({ detector: { kind: 'none' } }, [[MASQUERADE(' ! -s 10.66.0.0/16'), undefined]]));

test('a bridge as detector matches the interface', () =>
  assertVariant({ detector: { kind: 'interface', name: 'br0' } }, [
    [MASQUERADE(' ! -s 10.66.0.0/16'), MASQUERADE(' ! -i br0')],
  ]));

test('without node ports on localhost, KUBE-FIREWALL stays empty and 127.0.0.0/8 is excluded', () => {
  const { rules } = workedExample(BASE);
  const nodePorts = rules.split('\n').find((line) => line.includes('NOTE: this must be the last rule'))!;
  assertVariant({ localhostNodePorts: false }, [
    [':KUBE-FIREWALL - [0:0]', undefined],
    [rules.split('\n').find((line) => line.startsWith('-A KUBE-FIREWALL'))!, undefined],
    [nodePorts, nodePorts.replace('--dst-type LOCAL', '--dst-type LOCAL ! -d 127.0.0.0/8')],
  ]);
});

test('a large cluster has no comments in the rules there are most of', () => {
  const { manifests, facts } = workedExample(BASE);
  const text = serviceText(plan({ ...modelOf(manifests), endpointCount: 1001 }, facts)).split('\n');
  for (const line of [
    '-A KUBE-SVC-I5LIAMPLWKMBJ54B -m statistic --mode random --probability 0.3333333333 -j KUBE-SEP-2IINZM43XJXX4T3B',
    '-A KUBE-SEP-2IINZM43XJXX4T3B -s 10.66.1.7 -j KUBE-MARK-MASQ',
    '-A KUBE-SEP-2IINZM43XJXX4T3B -m tcp -p tcp -j DNAT --to-destination 10.66.1.7:8080',
    MASQUERADE(' ! -s 10.66.0.0/16'),
  ]) {
    assert.ok(text.includes(line), line);
  }
  const atThreshold = serviceText(plan({ ...modelOf(manifests), endpointCount: 1000 }, facts));
  assert.equal(atThreshold, workedExample(BASE).rules, 'exactly 1000 endpoints are not many yet');
});

test('a service whose endpoints are all gone has no nat rules, and rejects', () => {
  const { manifests, facts, rules } = workedExample(BASE);
  const withoutSlices = manifests.filter(({ kind }) => kind !== 'EndpointSlice');
  const kept = rules.split('\n').filter((line) => !/shop\/cart|KUBE-(SVC|SEP)-/.test(line));
  const reject =
    '-A KUBE-SERVICES -m comment --comment "shop/cart:http has no endpoints" -m tcp -p tcp -d 10.99.0.21 --dport 80 -j REJECT';
  kept.splice(kept.indexOf(kept.find((line) => line.includes('shop/idle'))!), 0, reject);
  assert.equal(textOf(withoutSlices, facts), kept.join('\n'));
});

test('a health check is asked over TCP, whatever the service speaks, and has a rule for each of its ports', () => {
  const { facts } = workedExample(BASE);
  const ports = [
    { name: 'rtp', port: 5004, protocol: 'UDP' },
    { name: 'sig', port: 5005, protocol: 'SCTP' },
  ];
  const spec = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 32555, ports };
  const text = textOf([serviceManifest('media/stream', spec)], facts).split('\n');
  assert.deepEqual(
    text.filter((line) => line.startsWith('-A KUBE-NODEPORTS')),
    ['rtp', 'sig'].map(
      (name) =>
        `-A KUBE-NODEPORTS -m comment --comment "media/stream:${name} health check node port" -m tcp -p tcp --dport 32555 -j ACCEPT`,
    ),
  );
});

test('the mark is written as eight hexadecimal digits', () => {
  for (const [mark, text] of [
    [1, '0x00000001'],
    [2 ** 31, '0x80000000'],
  ] as const) {
    assert.match(variant({ masqueradeMark: mark }), RegExp(`-A KUBE-MARK-MASQ -j MARK --or-mark ${text}\n`));
  }
});

test('each node-port address has its own rule, without loopback where that is not wanted', () => {
  const some = { kind: 'some', ips: ['127.0.0.1', '172.20.5.7', '172.20.5.8'] } as const;
  const targets = (facts: Partial<IptablesFacts>): readonly string[] =>
    variant(facts).match(/(?<=NOTE: this must be the last rule in this chain" )-d \S+/g) ?? [];
  assert.deepEqual(targets({ nodePortAddresses: some }), ['-d 127.0.0.1', '-d 172.20.5.7', '-d 172.20.5.8']);
  assert.deepEqual(targets({ nodePortAddresses: some, localhostNodePorts: false }), ['-d 172.20.5.7', '-d 172.20.5.8']);
  assert.deepEqual(targets({ nodePortAddresses: { kind: 'some', ips: [] } }), []);
});

function MASQUERADE(source: string): string {
  return `-A KUBE-SVC-I5LIAMPLWKMBJ54B -m comment --comment "shop/cart:http cluster IP" -m tcp -p tcp -d 10.99.0.21 --dport 80${source} -j KUBE-MARK-MASQ`;
}

function variant(changed: Partial<IptablesFacts>): string {
  const { manifests, facts }: WorkedExample = workedExample(BASE);
  return textOf(manifests satisfies readonly Manifest[], { ...facts, ...changed });
}

/** Each pair is a line of the base example and what stands in its place. */
function assertVariant(
  changed: Partial<IptablesFacts>,
  lines: readonly (readonly [string, string | undefined])[],
): void {
  const expected = workedExample(BASE)
    .rules.split('\n')
    .flatMap((line) => {
      const change = lines.find(([from]) => from === line);
      return change ? (change[1] ?? []) : line;
    });
  assert.equal(variant(changed), expected.join('\n'));
}
