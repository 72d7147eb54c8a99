import assert from 'node:assert/strict';
import test from 'node:test';
import type { NftExpression, NftSet } from '../../kernel/nftables-objects.ts';
import { ruleOf } from '../../modes/nftables/expressions.ts';
import { ruleText } from '../../modes/nftables/print.ts';
import { drop, goto, type Rule, rule } from '../../modes/nftables/rules.ts';
import { affinityMap, fixedSets } from '../../modes/nftables/sets.ts';
import { ruleWords } from './nft-netlink-text.ts';

const sets = (family: 'IPv4' | 'IPv6'): ReadonlyMap<string, { readonly set: NftSet }> =>
  new Map(
    [...fixedSets({ family, hasCounters: true, hasNodePortIps: true }), affinityMap(family, 'clients')].map((set) => [
      set.name,
      { set },
    ]),
  );

const FRONTEND = ['daddr', 'l4proto', 'dport'] as const;
const RULES: readonly Rule[] = [
  rule({ kind: 'is-new' }, goto('firewall-check')),
  rule({ kind: 'in-set', field: 'daddr', set: 'cluster-ips' }, { kind: 'reject' }),
  rule({ kind: 'from-interface', name: 'veth', isPrefix: true, isNegated: true }, { kind: 'set-mark', mark: 0x4000 }),
  rule({ kind: 'from-interface', name: 'cbr0', isPrefix: false, isNegated: false }, drop),
  rule({ kind: 'from-node' }, { kind: 'to-node' }, goto('nodeports')),
  rule({ kind: 'has-mark', mark: 0x4000 }, { kind: 'toggle-mark', mark: 0x4000 }, { kind: 'masquerade' }),
  rule({ kind: 'verdict-of', fields: FRONTEND, map: 'service-ips' }),
  rule({
    kind: 'pick',
    transport: 'udp',
    fields: ['daddr', 'dport'],
    count: 3,
    offset: 2,
    map: 'endpoints-udp',
  }),
  rule({ kind: 'stick', transport: 'tcp', map: 'clients', port: 8080 }),
  rule({ kind: 'learn', map: 'clients', timeoutSeconds: 5 }),
];

for (const family of ['IPv4', 'IPv6'] as const) {
  for (const planned of RULES) {
    const text = ruleText(planned, family);
    test(`${family}: “${text}” is read as it is printed`, () => {
      const { expressions } = ruleOf({ family, name: 't' }, 'c', planned);
      assert.equal(ruleWords(expressions, family, sets(family)), text);
    });
  }
}

const daddr: NftExpression = { kind: 'payload', base: 'network', offset: 16, length: 4, register: 1 };
const proto: NftExpression = { kind: 'meta', key: 'l4proto', register: 9 };
const port: NftExpression = { kind: 'payload', base: 'transport', offset: 2, length: 2, register: 10 };
const dropped: NftExpression = { kind: 'verdict', verdict: { kind: 'drop' } };

const UNTOLD: Readonly<Record<string, readonly NftExpression[]>> = {
  'a key of which one part was written over': [
    daddr,
    proto,
    port,
    { ...proto, register: 1 },
    { kind: 'lookup', register: 1, set: 'service-ips', into: 0 },
  ],
  'a key that is only the beginning of an address': [
    { ...daddr, length: 2 },
    { kind: 'lookup', register: 1, set: 'cluster-ips' },
  ],
  'a set that is not known': [daddr, { kind: 'lookup', register: 1, set: 'others' }, dropped],
  'a map’s value that nothing takes': [daddr, { kind: 'lookup', register: 1, set: 'clients', into: 1 }, dropped],
  'a comparison with an address outside of its mask': [
    daddr,
    { kind: 'bitwise', register: 1, mask: Uint8Array.of(255, 248, 0, 0), xor: new Uint8Array(4) },
    { kind: 'compare', is: 'equal', register: 1, data: Uint8Array.of(10, 244, 0, 0) },
  ],
  'a condition after a deed': [
    { kind: 'immediate', register: 1, data: new Uint8Array(4) },
    { kind: 'meta-set', key: 'mark', register: 1 },
    daddr,
    { kind: 'lookup', register: 1, set: 'cluster-ips' },
  ],
};

for (const [title, expressions] of Object.entries(UNTOLD)) {
  test(`${title} is not told`, () => {
    assert.equal(ruleWords(expressions, 'IPv4', sets('IPv4')), undefined);
  });
}
