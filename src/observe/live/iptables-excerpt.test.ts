import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Concern } from './concern.ts';
import { iptablesExcerpt } from './iptables-excerpt.ts';

const CONCERN: Concern = {
  ips: new Set(['10.96.0.1', '10.244.1.1', 'fd00:96::1']),
  ports: new Set([80, 8080, 30080]),
  nodePorts: new Set([30080]),
};

function excerpt(...lines: readonly string[]): string[] {
  return iptablesExcerpt(`${lines.join('\n')}\n`, CONCERN).split('\n');
}

const KEPT: Readonly<Record<string, string>> = {
  'an address of the Services asked about': '-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j KUBE-SVC-A',
  'another port of such an address': '-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m tcp --dport 443 -j KUBE-SVC-A',
  'an endpoint’s address': '-A KUBE-EXTERNAL-SERVICES -d 10.244.1.1/32 -p tcp -m tcp --dport 8080 -j REJECT',
  'the same of IPv6, however it is written':
    '-A KUBE-SERVICES -d fd00:96:0::1/128 -p tcp -m tcp --dport 80 -j KUBE-SVC-A',
  'a node port': '-A KUBE-NODEPORTS -p tcp -m comment --comment a/b -m tcp --dport 30080 -j KUBE-EXT-A',
  'a node port at one address': '-A KUBE-SERVICES -d 192.0.2.1/32 -p tcp -m tcp --dport 30080 -j DROP',
  'a node port on the loopback': '-A KUBE-NODEPORTS -d 127.0.0.0/8 -p tcp -m tcp --dport 30080 -j KUBE-EXT-A',
  'an address with all its ports': '-A KUBE-SERVICES -d 10.96.0.2/32 -j DROP',
  'the way to node ports': '-A KUBE-SERVICES -d 192.0.2.1/32 -m comment --comment "x y" -j KUBE-NODEPORTS',
  'a network': '-A KUBE-SERVICES -d 10.96.0.0/16 -p tcp -m tcp --dport 80 -j DROP',
  'all addresses but one': '-A KUBE-SERVICES ! -d 10.96.0.2/32 -p tcp -m tcp --dport 80 -j DROP',
  'all ports but one': '-A KUBE-NODEPORTS -p tcp -m tcp ! --dport 31000 -j DROP',
  'a range of ports': '-A KUBE-NODEPORTS -p tcp -m tcp --dport 30000:32767 -j DROP',
  'several ports': '-A KUBE-NODEPORTS -p tcp -m multiport --dports 30080,31000 -j DROP',
  'words in a comment': '-A KUBE-SERVICES -m comment --comment "x -d 10.96.0.2/32 -m tcp --dport 31000 " -j DROP',
  'another chain': '-A FORWARD -d 10.96.0.2/32 -p tcp -m tcp --dport 443 -j DROP',
  'a chain of somebody else': '-A cali-FORWARD -p tcp -m tcp --dport 443 -j DROP',
  'an empty chain that Services share': ':KUBE-SERVICES - [0:0]',
  'a table': '*nat',
};

const LEFT_OUT: Readonly<Record<string, string>> = {
  'an address of others': '-A KUBE-SERVICES -d 10.96.0.2/32 -p tcp -m tcp --dport 80 -j KUBE-SVC-B',
  'one that begins alike': '-A KUBE-SERVICES -d 10.96.0.11/32 -p tcp -m tcp --dport 80 -j KUBE-SVC-B',
  'one with a source':
    '-A KUBE-PORTALS-CONTAINER -s 10.0.0.0/8 -d 10.96.0.2/32 -p udp -m comment --comment a/b -m udp --dport 53 -j DNAT --to-destination 192.0.2.1:4711',
  'a refusal of others':
    '-A KUBE-SERVICES -d 10.96.0.2/32 -p tcp -m comment --comment "a/b has no endpoints" -m tcp --dport 80 -j REJECT --reject-with icmp-port-unreachable',
  'a node port of others': '-A KUBE-NODEPORTS -p tcp -m comment --comment a/b -m tcp --dport 31000 -j KUBE-EXT-B',
  'the same on the loopback': '-A KUBE-NODEPORTS -d 127.0.0.0/8 -p tcp -m tcp --dport 31000 -j KUBE-EXT-B',
  'a guard of others': '-A KUBE-PROXY-FIREWALL -d 203.0.113.2/32 -p tcp -m tcp --dport 80 -j DROP',
  'a chain that nothing leads to': ':KUBE-SVC-B - [0:0]',
  'a rule of such a chain': '-A KUBE-SEP-B -s 10.244.1.2/32 -j KUBE-MARK-MASQ',
};

describe('an excerpt of iptables-save for some Services', () => {
  for (const [what, line] of Object.entries(KEPT)) {
    test(`keeps ${what}`, () => assert.deepEqual(excerpt(line), [line]));
  }

  for (const [what, line] of Object.entries(LEFT_OUT)) {
    test(`leaves out ${what}`, () => assert.deepEqual(excerpt(line), ['']));
  }

  test('has the chains that its lines lead to, wherever these stand, and no others', () => {
    const kept = [
      '*nat',
      ':KUBE-EXT-A - [0:0]',
      ':KUBE-FW-A - [0:0]',
      ':KUBE-SEP-A1 - [0:0]',
      ':KUBE-SEP-STALE - [0:0]',
      ':KUBE-SVC-A - [0:0]',
      '-A PREROUTING -j KUBE-SERVICES',
      '-A KUBE-EXT-A -j KUBE-SVC-A',
      '-A KUBE-FW-A -s 10.0.0.0/8 -j KUBE-EXT-A',
      '-A KUBE-SEP-A1 -p tcp -m tcp -j DNAT --to-destination 10.244.1.1:8080',
      '-A KUBE-SEP-STALE -p tcp -m tcp -j DNAT --to-destination 10.244.9.9:8080',
      '-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j KUBE-FW-A',
      '-A KUBE-SVC-A -m statistic --mode random --probability 0.5 -j KUBE-SEP-A1',
      '-A KUBE-SVC-A -g KUBE-SEP-STALE',
      'COMMIT',
    ];
    const others = [
      ':KUBE-SEP-B1 - [0:0]',
      ':KUBE-SVC-B - [0:0]',
      '-A KUBE-SEP-B1 -p tcp -m tcp -j DNAT --to-destination 10.244.1.2:8080',
      '-A KUBE-SERVICES -d 10.96.0.2/32 -p tcp -m tcp --dport 80 -j KUBE-SVC-B',
      '-A KUBE-SVC-B -j KUBE-SEP-B1',
    ];
    const all = [...kept.slice(0, 6), ...others.slice(0, 2), ...kept.slice(6, -1), ...others.slice(2), 'COMMIT'];
    assert.deepEqual(excerpt(...all), kept);
  });

  test('has a chain of others where somebody’s rule leads into it', () => {
    const lines = ['-A PREROUTING -d 10.0.0.0/8 -j KUBE-SVC-B', '-A KUBE-SVC-B -j DROP'];
    assert.deepEqual(excerpt(...lines), lines);
  });
});
