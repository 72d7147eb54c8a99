import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseIptablesSave } from './iptables-save.ts';
import type { Match, Rule, Statement } from './ruleset.ts';

function rule(text: string, table = 'filter'): Rule {
  const ruleset = parseIptablesSave(`*${table}\n:X - [0:0]\n-A X ${text}\nCOMMIT\n`, 'IPv4');
  return ruleset.tables[0]!.chains.get('X')!.rules[0]!;
}

const cases: readonly [string, readonly Match[], readonly Statement[]][] = [
  [
    '-s 10.0.0.0/255.0.0.0 ! -d 10.1.2.3 -j DROP',
    [
      { not: false, kind: 'network', field: 'src', cidr: '10.0.0.0/8' },
      { not: true, kind: 'network', field: 'dst', cidr: '10.1.2.3/32' },
    ],
    [{ kind: 'drop' }],
  ],
  [
    '-i eth+ -o lo -p 17 -m multiport --dports 53,100:200 -g OTHER',
    [
      { not: false, kind: 'interface', direction: 'in', name: 'eth', isPrefix: true },
      { not: false, kind: 'interface', direction: 'out', name: 'lo', isPrefix: false },
      { not: false, kind: 'protocol', protocol: 'udp' },
      {
        not: false,
        kind: 'ports',
        field: 'dst',
        ranges: [
          [53, 53],
          [100, 200],
        ],
      },
    ],
    [{ kind: 'goto', chain: 'OTHER' }],
  ],
  [
    '-m comment --comment "it\\"s -j DROP" -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j RETURN',
    [{ not: true, kind: 'state', states: ['RELATED', 'ESTABLISHED', 'DNAT'] }],
    [{ kind: 'return' }],
  ],
  [
    '-m addrtype --dst-type LOCAL ! -d 127.0.0.0/8 -j KUBE-NODEPORTS',
    [
      { not: false, kind: 'address-type', field: 'dst', type: 'LOCAL' },
      { not: true, kind: 'network', field: 'dst', cidr: '127.0.0.0/8' },
    ],
    [{ kind: 'jump', chain: 'KUBE-NODEPORTS' }],
  ],
  [
    '-m mark ! --mark 0x4000/0x4000 -j RETURN',
    [{ not: true, kind: 'mark', value: 0x4000, mask: 0x4000 }],
    [{ kind: 'return' }],
  ],
  ['-j MARK --set-xmark 0x4000/0x4000', [], [{ kind: 'mark', keep: 0xffffbfff, flip: 0x4000 }]],
  ['-j MARK --or-mark 0x4000', [], [{ kind: 'mark', keep: 0xffffbfff, flip: 0x4000 }]],
  ['-j MARK --xor-mark 0x4000', [], [{ kind: 'mark', keep: 0xffffffff, flip: 0x4000 }]],
  ['-j MARK --and-mark 0xff', [], [{ kind: 'mark', keep: 0xff, flip: 0 }]],
  ['-j MARK --set-mark 0x1/0xff', [], [{ kind: 'mark', keep: 0xffffff00, flip: 1 }]],
  [
    '-m statistic --mode random --probability 0.33333333349 -j ACCEPT',
    [{ not: false, kind: 'chance', probability: { numerator: 1n, denominator: 3n } }],
    [{ kind: 'accept' }],
  ],
  [
    '-m recent --rcheck --seconds 600 --reap --name KUBE-SEP-A --mask 255.255.255.255 --rsource -j KUBE-SEP-A',
    [{ not: false, kind: 'remembered', list: 'KUBE-SEP-A', seconds: 600 }],
    [{ kind: 'jump', chain: 'KUBE-SEP-A' }],
  ],
  [
    '-p tcp -m recent --set --name L --rsource -m tcp -j DNAT --to-destination 10.1.0.7:8080 --random',
    [
      { not: false, kind: 'protocol', protocol: 'tcp' },
      { not: false, kind: 'remember', list: 'L' },
    ],
    [{ kind: 'dnat', ip: '10.1.0.7', port: 8080 }],
  ],
  ['-j DNAT --to-destination [fd00::7]:80', [], [{ kind: 'dnat', ip: 'fd00::7', port: 80 }]],
  ['-j DNAT --to-destination :8080', [], [{ kind: 'dnat', ip: undefined, port: 8080 }]],
  [
    '-j DNAT --to-destination 10.0.0.1-10.0.0.9',
    [],
    [{ kind: 'unknown', text: '-j DNAT --to-destination 10.0.0.1-10.0.0.9' }],
  ],
  [
    '-p tcp --syn -j REJECT --reject-with tcp-reset',
    [
      { not: false, kind: 'protocol', protocol: 'tcp' },
      { not: false, kind: 'unknown', text: '--syn' },
    ],
    [{ kind: 'reject', with: 'tcp-reset' }],
  ],
  [
    '-m set --match-set cali40s:abc src -m limit --limit 5/sec -j LOG --log-prefix "drop: "',
    [
      { not: false, kind: 'ip-set', set: 'cali40s:abc', directions: ['src'] },
      { not: false, kind: 'unknown', text: '-m limit --limit 5/sec' },
    ],
    [{ kind: 'note', name: 'LOG' }],
  ],
  [
    '-m set ! --match-set KUBE-CLUSTER-IP dst,dst -m physdev ! --physdev-is-in -m ipvs --vproto 6 --vaddr 203.0.113.9 --vport 443 -j RETURN',
    [
      { not: true, kind: 'ip-set', set: 'KUBE-CLUSTER-IP', directions: ['dst', 'dst'] },
      { not: true, kind: 'bridged' },
      { not: false, kind: 'virtual-server', field: 'protocol', value: 'tcp' },
      { not: false, kind: 'virtual-server', field: 'ip', value: '203.0.113.9/32' },
      { not: false, kind: 'virtual-server', field: 'port', value: '443' },
    ],
    [{ kind: 'return' }],
  ],
  ['-m nfacct --nfacct-name  ct_state_invalid_dropped_pkts', [], []],
  ['-j NFQUEUE --queue-num 3', [], [{ kind: 'unknown', text: '-j NFQUEUE --queue-num 3' }]],
];

for (const [text, matches, statements] of cases) {
  test(`reads ${text}`, () => {
    const { matches: found, statements: does } = rule(text);
    assert.deepEqual({ matches: found, statements: does }, { matches, statements });
  });
}

test('knows hooks, priorities and policies of built-in chains, and counters in front of rules', () => {
  const text =
    '# comment\n*nat\n:PREROUTING ACCEPT [1:60]\n:POSTROUTING DROP [0:0]\n[3:180] -A PREROUTING -j RETURN\nCOMMIT\n';
  const { tables } = parseIptablesSave(text, 'IPv4');
  const chains = tables[0]!.chains;
  assert.deepEqual(chains.get('PREROUTING')!.base, {
    hook: 'prerouting',
    priority: -100,
    type: 'nat',
    policy: 'accept',
  });
  assert.deepEqual(chains.get('POSTROUTING')!.base, {
    hook: 'postrouting',
    priority: 100,
    type: 'nat',
    policy: 'drop',
  });
  assert.deepEqual(
    chains.get('PREROUTING')!.rules.map((one) => one.text),
    ['-A PREROUTING -j RETURN'],
  );
});
