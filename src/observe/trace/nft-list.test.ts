import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseNftList, withoutIptablesTables } from './nft-list.ts';
import type { Rule } from './ruleset.ts';

const TEXT = `
# Warning: table ip nat is managed by iptables-nft, do not touch!
table ip nat {
	chain PREROUTING { type nat hook prerouting priority dstnat; policy accept; }
}
table inet firewall {
	flags owner
	counter dropped {
		packets 0 bytes 0
	}
	set trusted {
		type ipv4_addr
		flags interval
		elements = { 10.0.0.0/8, 192.0.2.1-192.0.2.9,
			     198.51.100.1 counter packets 7 bytes 420 comment "me, too" }
	}
	map who {
		type ipv4_addr . inet_proto . inet_service : verdict
		elements = { 10.96.0.1 . tcp . 443 comment "default/kubernetes:https" : goto pick-1,
			     10.96.0.2 . udp . 53 : drop }
	}
	map kept {
		type ipv4_addr : ipv4_addr
		size 65535
		flags dynamic,timeout
		elements = { 10.1.0.1 timeout 3h expires 2h59m : 10.2.0.2 }
	}
	chain in {
		comment "a chain"
		type filter hook input priority filter - 10; policy drop;
		ct state established,related counter packets 5 bytes 300 accept
		ct state != new drop
		ct status dnat return
		iifname "lo" accept
		iifname != "cali*" ip saddr @trusted tcp dport { 22, 80-90 } accept comment "in; out"
		ip saddr != { 10.0.0.0/8, 192.0.2.1 } drop
		ip daddr . meta l4proto . th dport vmap @who
		meta mark & 0x00004000 != 0x00000000 meta mark set meta mark ^ 0x00004000 masquerade fully-random
		meta l4proto tcp dnat ip to numgen random mod 2 map { 0 : 10.0.0.1 . 80, 1 : 10.0.0.2 . 81 }
		dnat to ip saddr map @kept:8080
		fib daddr type local limit rate 5/second reject with icmp type port-unreachable
		log prefix "no: " level info jump other
	}
}
table ip6 elsewhere {
	chain c { drop }
}
`;

const { tables } = parseNftList(TEXT, 'IPv4');
const firewall = tables.find(({ name }) => name === 'firewall')!;
const rules = firewall.chains.get('in')!.rules;
const at = (i: number): Pick<Rule, 'matches' | 'statements'> => ({
  matches: rules[i]!.matches,
  statements: rules[i]!.statements,
});

test('tables of the family and of both are read, and those of iptables can be left out', () => {
  assert.deepEqual(
    tables.map(({ name }) => name),
    ['nat', 'firewall'],
  );
  assert.deepEqual(
    withoutIptablesTables({ family: 'IPv4', tables }).tables.map(({ name }) => name),
    ['firewall'],
  );
});

test('base chains have their hook, their priority in numbers, and their policy', () =>
  assert.deepEqual(firewall.chains.get('in')!.base, { hook: 'input', priority: -10, type: 'filter', policy: 'drop' }));

test('sets have elements, networks and ranges, counts, and what rules add', () => {
  const trusted = firewall.sets.get('trusted')!;
  assert.deepEqual([...trusted.elements], [['198.51.100.1', '']]);
  assert.deepEqual(
    trusted.ranges.map(({ text }) => text),
    ['10.0.0.0/8', '192.0.2.1-192.0.2.9'],
  );
  assert.equal(trusted.packets.get('198.51.100.1'), 7);
  assert.deepEqual(
    [...firewall.sets.get('who')!.elements],
    [
      ['10.96.0.1 . tcp . 443', 'goto pick-1'],
      ['10.96.0.2 . udp . 53', 'drop'],
    ],
  );
  assert.equal(firewall.sets.get('kept')!.isDynamic, true);
  assert.deepEqual([...firewall.sets.get('kept')!.elements], [['10.1.0.1', '10.2.0.2']]);
});

test('states, marks and devices are read', () => {
  assert.deepEqual(at(0), {
    matches: [{ not: false, kind: 'state', states: ['ESTABLISHED', 'RELATED'] }],
    statements: [{ kind: 'accept' }],
  });
  assert.deepEqual(at(1), { matches: [{ not: true, kind: 'state', states: ['NEW'] }], statements: [{ kind: 'drop' }] });
  assert.deepEqual(at(2), {
    matches: [{ not: false, kind: 'state', states: ['DNAT'] }],
    statements: [{ kind: 'return' }],
  });
  assert.deepEqual(at(3).matches, [{ not: false, kind: 'interface', direction: 'in', name: 'lo', isPrefix: false }]);
  assert.deepEqual(at(7), {
    matches: [{ not: true, kind: 'mark', value: 0, mask: 0x4000 }],
    statements: [{ kind: 'mark', keep: 0xffffffff, flip: 0x4000 }, { kind: 'masquerade' }],
  });
});

test('sets in rules are read, named or not', () => {
  const [device, source, protocol, ports] = at(4).matches;
  assert.deepEqual(device, { not: true, kind: 'interface', direction: 'in', name: 'cali', isPrefix: true });
  assert.deepEqual(source, { not: false, kind: 'element', key: [{ kind: 'field', field: 'src' }], set: 'trusted' });
  assert.deepEqual(protocol, { not: false, kind: 'protocol', protocol: 'tcp' });
  assert.ok(ports?.kind === 'element' && typeof ports.set !== 'string' && ports.set.elements.has('22'));
  assert.ok(at(5).matches[0]?.not);
});

test('maps of verdicts and destinations are read', () => {
  const key = (['dst', 'protocol', 'dst-port'] as const).map((field) => ({ kind: 'field', field }) as const);
  assert.deepEqual(at(6).statements, [{ kind: 'verdict-map', key, map: 'who' }]);
  const [picks] = at(8).statements;
  assert.ok(
    picks?.kind === 'dnat-map' && typeof picks.map !== 'string' && picks.map.elements.get('1') === '10.0.0.2 . 81',
  );
  assert.deepEqual(at(9).statements, [
    { kind: 'dnat-map', key: [{ kind: 'field', field: 'src' }], map: 'kept', port: 8080 },
  ]);
});

test('what is not known is kept as a question, and the verdict after it is found', () => {
  assert.deepEqual(at(10).matches[1], { not: false, kind: 'unknown', text: 'limit rate 5/second' });
  assert.deepEqual(at(10).statements, [{ kind: 'reject', with: 'port-unreachable' }]);
  assert.deepEqual(at(11).statements, [
    { kind: 'note', name: 'log' },
    { kind: 'jump', chain: 'other' },
  ]);
});
