import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PASSING, ROUTER } from '../../../test/support/walker.ts';
import { fractionText } from './fraction.ts';
import { parseIptablesSave } from './iptables-save.ts';
import type { Outcome, Packet, Surroundings } from './packet.ts';
import { Walker } from './walk.ts';

function walk(rules: string, packet: Partial<Packet> = {}, host: Partial<Surroundings> = {}): readonly Outcome[] {
  return new Walker(parseIptablesSave(rules, 'IPv4')).walk({ ...PASSING, ...packet }, { ...ROUTER, ...host });
}

/** `1/2 dropped`, `forwarded 10.0.0.2:80`. */
function told(outcomes: readonly Outcome[]): readonly string[] {
  return outcomes.map(({ share, end, dst, dstPort }) => `${fractionText(share)} ${end.kind} ${dst}:${dstPort}`);
}

test('a packet that no rule concerns goes where it was sent', () => {
  assert.deepEqual(told(walk('')), ['1 forwarded 10.0.0.2:80']);
  assert.deepEqual(told(walk('', { dst: '192.0.2.1' })), ['1 delivered 192.0.2.1:80']);
  assert.deepEqual(told(walk('', { dst: '127.0.0.1', isFromThisHost: true })), ['1 delivered 127.0.0.1:80']);
  assert.deepEqual(told(walk('', { isFromThisHost: true })), ['1 forwarded 10.0.0.2:80']);
});

test('the policy decides where no rule does, after RETURN too', () => {
  const rules = '*filter\n:FORWARD DROP [0:0]\n:A - [0:0]\n-A FORWARD -j A\n-A A -j RETURN\nCOMMIT\n';
  const [outcome] = walk(rules);
  assert.equal(outcome!.end.kind, 'dropped');
  assert.equal(outcome!.hops.at(-1)!.rule, undefined);
});

test('a chain that was jumped to returns to the rule after, one that was gone to does not', () => {
  const rules = (how: string): string =>
    `*filter\n:A - [0:0]\n-A FORWARD ${how} A\n-A FORWARD -j DROP\n-A A -p udp -j ACCEPT\nCOMMIT\n`;
  assert.deepEqual(told(walk(rules('-j'))), ['1 dropped 10.0.0.2:80']);
  assert.deepEqual(told(walk(rules('-g'))), ['1 forwarded 10.0.0.2:80']);
});

test('ACCEPT ends its own table only', () =>
  assert.deepEqual(told(walk('*mangle\n-A FORWARD -j ACCEPT\nCOMMIT\n*filter\n-A FORWARD -j DROP\nCOMMIT\n')), [
    '1 dropped 10.0.0.2:80',
  ]));

test('shares are exact', () => {
  const pick = (probability: string, to: number): string =>
    `-A PREROUTING -m statistic --mode random --probability ${probability} -p tcp -j DNAT --to-destination 10.1.0.${to}:8080`;
  const rules = ['*nat', pick('0.25000000000', 1), pick('0.33333333349', 2), pick('0.5', 3), pick('1.0', 4), 'COMMIT'];
  assert.deepEqual(
    told(walk(rules.join('\n'))),
    [1, 2, 3, 4].map((to) => `1/4 forwarded 10.1.0.${to}:8080`),
  );
});

test('what cannot be judged is followed both ways, and said', () => {
  const outcomes = walk('*filter\n-A FORWARD -m set --match-set bad src -j DROP\nCOMMIT\n');
  assert.deepEqual(told(outcomes), ['1 dropped 10.0.0.2:80', '1 forwarded 10.0.0.2:80']);
  assert.deepEqual(
    outcomes.map(({ conditions }) => conditions.map((one) => [one.holds, one.kind === 'unjudged' && one.text])),
    [[[true, '-m set --match-set bad src']], [[false, '-m set --match-set bad src']]],
  );
});

test('a match that fails for sure decides, whatever else is asked', () =>
  assert.deepEqual(told(walk('*filter\n-A FORWARD -p udp -m set --match-set bad src -j DROP\nCOMMIT\n')), [
    '1 forwarded 10.0.0.2:80',
  ]));

test('a target that is not followed ends the way, and is named', () => {
  const [outcome] = walk('*mangle\n-A PREROUTING -j NFQUEUE --queue-num 1\nCOMMIT\n');
  assert.ok(outcome!.end.kind === 'unjudged' && outcome!.end.reason.includes('NFQUEUE'));
});

test('nat chains are not asked about packets of known or untracked connections', () => {
  const nat = '*nat\n-A PREROUTING -p tcp -j DNAT --to-destination 10.9.9.9:1\nCOMMIT\n';
  assert.deepEqual(told(walk(nat, { state: 'ESTABLISHED' })), ['1 forwarded 10.0.0.2:80']);
  assert.deepEqual(told(walk(`*raw\n-A PREROUTING -j NOTRACK\nCOMMIT\n${nat}`)), ['1 forwarded 10.0.0.2:80']);
});

test('what a process sends to its own host passes output, postrouting and input, and is translated once', () => {
  const rules = `*nat
-A OUTPUT -p tcp -d 192.0.2.1 --dport 80 -j REDIRECT --to-ports 8080
-A PREROUTING -p tcp -j DNAT --to-destination 10.9.9.9:1
COMMIT
*filter
-A INPUT -i lo -p tcp --dport 8080 -m conntrack --ctstate DNAT -j REJECT
COMMIT
`;
  assert.deepEqual(told(walk(rules, { src: '192.0.2.1', dst: '192.0.2.1', isFromThisHost: true })), [
    '1 rejected 127.0.0.1:8080',
  ]);
});

test('marks are set, saved, restored and asked for', () => {
  const rules = `*mangle
-A PREROUTING -j MARK --set-xmark 0x12/0xff
-A PREROUTING -j CONNMARK --save-mark
-A PREROUTING -j MARK --set-xmark 0x0/0xffffffff
-A PREROUTING -j CONNMARK --restore-mark
COMMIT
*filter
-A FORWARD -m mark --mark 0x12/0xff -j DROP
COMMIT
`;
  assert.deepEqual(told(walk(rules)), ['1 dropped 10.0.0.2:80']);
});

test('a client that may be remembered is followed both ways, unless it is known which', () => {
  const rules =
    '*nat\n-A PREROUTING -p tcp -m recent --rcheck --seconds 10 --name L --rsource -j DNAT --to-destination 10.1.0.1:80\nCOMMIT\n';
  assert.deepEqual(told(walk(rules)), ['1 forwarded 10.1.0.1:80', '1 forwarded 10.0.0.2:80']);
  assert.deepEqual(told(walk(rules, {}, { isRemembered: () => true })), ['1 forwarded 10.1.0.1:80']);
  assert.deepEqual(told(walk(rules, {}, { isRemembered: () => false })), ['1 forwarded 10.0.0.2:80']);
});

test('devices that are not known are a question, and wildcards for all of them are none', () => {
  assert.equal(walk('*filter\n-A FORWARD -o eth1 -j DROP\nCOMMIT\n').length, 2);
  assert.equal(walk('*filter\n-A FORWARD -o eth1 -j DROP\nCOMMIT\n', {}, { deviceTo: () => 'eth1' }).length, 1);
  assert.deepEqual(told(walk('*filter\n-A FORWARD -i + -j DROP\nCOMMIT\n')), ['1 dropped 10.0.0.2:80']);
});

test('of thousands of rules only those are asked that could match, in their order', () => {
  const many = Array.from({ length: 3000 }, (_, i) => `-A FORWARD -d 10.5.${i >> 8}.${i & 255}/32 -j DROP`);
  const rules = [
    '*filter',
    ...many,
    '-A FORWARD -p tcp --dport 80 -j REJECT',
    '-A FORWARD -d 10.0.0.2/32 -j DROP',
    'COMMIT',
  ];
  assert.deepEqual(told(walk(rules.join('\n'))), ['1 rejected 10.0.0.2:80']);
});

test('a network of IPv6 with a prefix of 32 bits is no single address', () => {
  const rules = '*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -s 2001:db8::/32 -j DROP\nCOMMIT';
  const packet: Packet = { ...PASSING, src: '2001:db8:1::1', dst: '2001:db8:2::1' };
  assert.deepEqual(told(new Walker(parseIptablesSave(rules, 'IPv6')).walk(packet, ROUTER)), [
    '1 dropped 2001:db8:2::1:80',
  ]);
});
