import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PASSING, ROUTER } from '../../../test/support/walker.ts';
import { fractionText } from './fraction.ts';
import { parseIptablesSave } from './iptables-save.ts';
import type { Outcome, Packet } from './packet.ts';
import type { Balancer, Beside, IpSet } from './ruleset.ts';
import { Walker } from './walk.ts';

const PACKET: Packet = { ...PASSING, dst: '10.96.0.1' };

function walk(beside: Beside, rules = '', packet: Partial<Packet> = {}): readonly Outcome[] {
  return new Walker({ ...parseIptablesSave(rules, 'IPv4'), ...beside }).walk({ ...PACKET, ...packet }, ROUTER);
}

/** `1/2 forwarded 10.1.0.7:8080 from 10.0.0.1`. */
function told(outcomes: readonly Outcome[]): readonly string[] {
  return outcomes.map(
    ({ share, end, dst, dstPort, src }) => `${fractionText(share)} ${end.kind} ${dst}:${dstPort} from ${src}`,
  );
}

function balancer(weights: readonly number[], more: Partial<Balancer> = {}): Balancer {
  const destinations = weights.map((weight, i) => ({ ip: `10.1.0.${i + 1}`, port: 8080, weight, text: `${i}` }));
  const without = { kind: 'reject', with: 'port-unreachable' } as const;
  return { name: 'TCP 10.96.0.1:80', text: '-A', destinations, isSticky: false, without, ...more };
}

function served(server: Balancer): Beside {
  return { addresses: new Set(['10.96.0.1']), virtualServers: new Map([['tcp 10.96.0.1:80', server]]) };
}

test('a virtual server shares by weight, and gives nothing to those who have none', () =>
  assert.deepEqual(told(walk(served(balancer([1, 0, 3])))), [
    '1/4 forwarded 10.1.0.1:8080 from 10.0.0.1',
    '3/4 forwarded 10.1.0.3:8080 from 10.0.0.1',
  ]));

test('a virtual server without real servers refuses', () =>
  assert.deepEqual(
    walk(served(balancer([0]))).map(({ end }) => end),
    [{ kind: 'rejected', with: 'port-unreachable' }],
  ));

test('nobody comes to a virtual server whose address the host does not have', () =>
  assert.deepEqual(told(walk({ virtualServers: served(balancer([1])).virtualServers! })), [
    '1 forwarded 10.96.0.1:80 from 10.0.0.1',
  ]));

test('what comes in meets the filter table before ip_vs, and output after it', () => {
  const input = '*filter\n-A INPUT -d 10.96.0.1/32 -j DROP\nCOMMIT\n';
  assert.deepEqual(told(walk(served(balancer([1])), input)), ['1 dropped 10.96.0.1:80 from 10.0.0.1']);
  const output =
    '*filter\n-A OUTPUT -d 10.1.0.1/32 -m ipvs --vaddr 10.96.0.1 --vproto tcp --vport 80 -j DROP\nCOMMIT\n';
  assert.deepEqual(told(walk(served(balancer([1, 1])), output)), [
    '1/2 dropped 10.1.0.1:8080 from 10.0.0.1',
    '1/2 forwarded 10.1.0.2:8080 from 10.0.0.1',
  ]);
  const forward = '*filter\n-A FORWARD -j DROP\nCOMMIT\n';
  assert.deepEqual(told(walk(served(balancer([1])), forward)), ['1 forwarded 10.1.0.1:8080 from 10.0.0.1']);
});

test('what ip_vs sends on is masqueraded like anything else, but its destination is not translated again', () => {
  const rules =
    '*nat\n-A OUTPUT -d 10.1.0.1/32 -p tcp -j DNAT --to-destination 10.9.9.9:9\n-A POSTROUTING -j MASQUERADE\nCOMMIT\n';
  const expected = ['1 forwarded 10.1.0.1:8080 from 192.0.2.1'];
  assert.deepEqual(told(walk(served(balancer([1])), rules)), expected);
  const own = { src: '10.96.0.1', device: undefined, isFromThisHost: true };
  assert.deepEqual(told(walk(served(balancer([1])), rules, own)), expected);
});

test('a real server on the host itself is delivered to', () => {
  const here = { ip: '192.0.2.1', port: 6443, weight: 1, text: '' };
  assert.deepEqual(told(walk(served(balancer([], { destinations: [here] })))), [
    '1 delivered 192.0.2.1:6443 from 10.0.0.1',
  ]);
});

test('who stays with a real server may have any of them', () => {
  const outcomes = walk(served(balancer([1, 1], { isSticky: true })));
  assert.deepEqual(
    outcomes.map(({ share, conditions: [one], dst }) => [fractionText(share), one!.kind, one!.holds, dst]),
    [
      ['1', 'remembered', true, '10.1.0.1'],
      ['1', 'remembered', true, '10.1.0.2'],
      ['1/2', 'remembered', false, '10.1.0.1'],
      ['1/2', 'remembered', false, '10.1.0.2'],
    ],
  );
});

test('where a scheduler goes by addresses, it is said that it decides', () =>
  assert.deepEqual(
    walk(served(balancer([1, 1], { chosenBy: 'scheduler sh' }))).map(({ conditions }) => conditions),
    [0, 1].map(() => [{ kind: 'chosen', by: 'scheduler sh', holds: true }]),
  ));

const TO_RELAY = '*nat\n-A PREROUTING -d 10.96.0.1/32 -p tcp -j DNAT --to-destination 192.0.2.1:40123\nCOMMIT\n';

function relayed(relay: Balancer): Beside {
  return { relays: new Map([['tcp 192.0.2.1:40123', relay]]) };
}

test('a relay makes connections of its own, which come from the host', () => {
  const outcomes = walk(relayed(balancer([1, 1])), TO_RELAY);
  assert.deepEqual(told(outcomes), [
    '1/2 forwarded 10.1.0.1:8080 from 192.0.2.1',
    '1/2 forwarded 10.1.0.2:8080 from 192.0.2.1',
  ]);
  assert.ok(outcomes.every(({ isSeenAsNode, isRedirected }) => isSeenAsNode && isRedirected));
});

test('they pass the host’s own rules, and nothing of the client’s packet is left on them', () => {
  const rules = `*mangle\n-A PREROUTING -j MARK --set-xmark 0x1/0x1\nCOMMIT\n${TO_RELAY}*filter
-A OUTPUT -m mark --mark 0x1/0x1 -j DROP\n-A OUTPUT -d 10.1.0.2/32 -m conntrack --ctstate NEW -j REJECT\nCOMMIT\n`;
  assert.deepEqual(told(walk(relayed(balancer([1, 1])), rules)), [
    '1/2 forwarded 10.1.0.1:8080 from 192.0.2.1',
    '1/2 rejected 10.1.0.2:8080 from 192.0.2.1',
  ]);
});

test('a relay that leads to itself comes to an end', () => {
  const itself = { ip: '192.0.2.1', port: 40123, weight: 1, text: '' };
  const [outcome] = walk(relayed(balancer([], { destinations: [itself] })), TO_RELAY);
  assert.equal(outcome!.end.kind, 'unjudged');
});

const SETS: readonly (readonly [type: string, directions: string, entry: string, other: string])[] = [
  ['hash:ip', 'dst', '10.96.0.1', '10.96.0.2'],
  ['hash:ip', 'src', '10.0.0.1', '10.96.0.1'],
  ['hash:ip,port', 'dst,dst', '10.96.0.1,tcp:80', '10.96.0.1,udp:80'],
  ['hash:ip,port', 'src,dst', '10.0.0.1,tcp:80', '10.96.0.1,tcp:80'],
  ['hash:ip,port,ip', 'dst,dst,src', '10.96.0.1,tcp:80,10.0.0.1', '10.96.0.1,tcp:80,10.96.0.1'],
  ['hash:ip,port,net', 'dst,dst,src', '10.96.0.1,tcp:80,10.0.0.0/8', '10.96.0.1,tcp:80,10.1.0.0/16'],
  ['hash:ip,port,net', 'dst,dst,src', '10.96.0.1,tcp:80,10.0.0.1', '10.96.0.1,tcp:443,10.0.0.1'],
  ['hash:net', 'src', '10.0.0.0/24', '10.0.1.0/24'],
  ['bitmap:port', 'dst', '80', '81'],
];

for (const [type, directions, entry, other] of SETS) {
  test(`a set ${type} is asked for ${directions}`, () => {
    const ask = (...entries: readonly string[]): readonly string[] => {
      const set: IpSet = { name: 'S', type, entries: new Set(entries) };
      const rules = `*filter\n-A FORWARD -m set --match-set S ${directions} -j DROP\nCOMMIT\n`;
      return walk({ ipSets: new Map([['S', set]]) }, rules).map(({ end }) => end.kind);
    };
    assert.deepEqual(ask(other, entry), ['dropped']);
    assert.deepEqual(ask(other), ['forwarded']);
  });
}

test('a set that is not there, or is of a type that is not known, leaves both ways open', () => {
  const rules = '*filter\n-A FORWARD -m set --match-set S src -j DROP\nCOMMIT\n';
  const kinds = (beside: Beside): readonly string[] => walk(beside, rules).map(({ end }) => end.kind);
  assert.deepEqual(kinds({}), ['dropped', 'forwarded']);
  const set: IpSet = { name: 'S', type: 'hash:mac', entries: new Set() };
  assert.deepEqual(kinds({ ipSets: new Map([['S', set]]) }), ['dropped', 'forwarded']);
});
