// What we send for a table is, byte for byte, what the system's nft sends for the same text. nft prints its messages with
// --debug=mnl; ours are printed in the same way and compared as text.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import test from 'node:test';
import { encodeBatch } from '../../src/kernel/netlink/netfilter.ts';
import type { NftOperation, NftSet, NftTable } from '../../src/kernel/nftables-objects.ts';
import { encodeSteps } from '../../src/kernel/nftables-steps.ts';
import { continueInSandbox } from '../../src/lab/sandbox.ts';

continueInSandbox(import.meta.url);

const IPv4: NftTable = { family: 'IPv4', name: 't' };
const IPv6: NftTable = { family: 'IPv6', name: 't' };
const host = (value: number): Uint8Array => new Uint8Array(Uint32Array.of(value).buffer);

test('a table, chains and sets with comments, flags and types', () => {
  assertSameBytes(
    IPv4,
    `table ip t { comment "rules of t"; }
     add chain ip t services
     add chain ip t reject-chain { comment "helper"; }
     add chain ip t nat-prerouting { type nat hook prerouting priority -100; }
     add set ip t cluster-ips { type ipv4_addr; comment "Active ClusterIPs"; }
     add map ip t service-ips { type ipv4_addr . inet_proto . inet_service : verdict; counter; }
     add map ip t affinity { type ipv4_addr : ipv4_addr; size 65535; flags dynamic,timeout; timeout 60s; }`,
    [
      { op: 'add-table', comment: 'rules of t' },
      { op: 'add-chain', chain: { name: 'services' } },
      { op: 'add-chain', chain: { name: 'reject-chain', comment: 'helper' } },
      { op: 'add-chain', chain: { name: 'nat-prerouting', base: { type: 'nat', hook: 'prerouting', priority: -100 } } },
      { op: 'add-set', set: { name: 'cluster-ips', key: ['ipv4_addr'], comment: 'Active ClusterIPs' } },
      {
        op: 'add-set',
        set: {
          name: 'service-ips',
          key: ['ipv4_addr', 'inet_proto', 'inet_service'],
          value: 'verdict',
          hasCounters: true,
        },
      },
      {
        op: 'add-set',
        set: {
          name: 'affinity',
          key: ['ipv4_addr'],
          value: ['ipv4_addr'],
          maxElements: 65535,
          isDynamic: true,
          timeoutSeconds: 60,
        },
      },
    ],
  );
});

for (const [table, ip, type] of [
  [IPv4, 'ip', 'ipv4_addr'],
  [IPv6, 'ip6', 'ipv6_addr'],
] as const) {
  test(`a map with a random index in its key, in ${table.family}`, () => {
    const address = table.family === 'IPv4' ? '10.0.0.1' : 'fd00::1';
    const set: NftSet = {
      name: 'endpoints',
      key: [type, 'inet_service', 'integer'],
      value: [type, 'inet_service'],
      typeof: {
        key: [`${ip} daddr`, 'sctp dport', 'numgen random mod 65536'],
        value: [`${ip} daddr`, 'sctp dport'],
      },
    };
    const isIPv4 = table.family === 'IPv4';
    assertSameBytes(
      table,
      `table ${ip} t { }
       add chain ${ip} t pick
       add map ${ip} t endpoints { typeof ${ip} daddr . sctp dport . numgen random mod 65536 : ${ip} daddr . sctp dport; }
       add element ${ip} t endpoints { ${address} . 80 . 1 comment "shop/cart" : ${address} . 8080 }
       add rule ${ip} t pick dnat ${ip} to ${ip} daddr . sctp dport . numgen random mod 3 offset 7 map @endpoints`,
      [
        { op: 'add-table' },
        { op: 'add-chain', chain: { name: 'pick' } },
        { op: 'add-set', set },
        {
          op: 'add-elements',
          set,
          elements: [{ key: `${address} . 80 . 1`, value: `${address} . 8080`, comment: 'shop/cart' }],
        },
        {
          op: 'add-rule',
          rule: {
            chain: 'pick',
            expressions: [
              { kind: 'meta', key: 'l4proto', register: 1 },
              { kind: 'compare', is: 'equal', register: 1, data: Uint8Array.of(132) },
              {
                kind: 'payload',
                base: 'network',
                offset: isIPv4 ? 16 : 24,
                length: isIPv4 ? 4 : 16,
                register: 1,
              },
              { kind: 'payload', base: 'transport', offset: 2, length: 2, register: isIPv4 ? 9 : 2 },
              { kind: 'numgen-random', modulus: 3, offset: 7, register: isIPv4 ? 10 : 13 },
              { kind: 'lookup', set: 'endpoints', register: 1, into: 1 },
              { kind: 'dnat', addressRegister: 1, portRegister: isIPv4 ? 9 : 2 },
            ],
          },
        },
      ],
    );
  });
}

test('elements with verdicts and comments', () => {
  const set: NftSet = { name: 'm', key: ['inet_proto', 'inet_service'], value: 'verdict' };
  assertSameBytes(
    IPv4,
    `table ip t { }
     add chain ip t c
     add map ip t m { type inet_proto . inet_service : verdict; }
     add element ip t m { tcp . 80 comment "a" : goto c, udp . 53 : drop, sctp . 9 : jump c, tcp . 1 : return }`,
    [
      { op: 'add-table' },
      { op: 'add-chain', chain: { name: 'c' } },
      { op: 'add-set', set },
      {
        op: 'add-elements',
        set,
        elements: [
          { key: 'tcp . 80', value: 'goto c', comment: 'a' },
          { key: 'udp . 53', value: 'drop' },
          { key: 'sctp . 9', value: 'jump c' },
          { key: 'tcp . 1', value: 'return' },
        ],
      },
    ],
  );
});

test('rules that mark, masquerade, reject, match and learn', () => {
  const set: NftSet = { name: 'm', key: ['ipv6_addr'], value: ['ipv6_addr'], isDynamic: true, hasTimeout: true };
  const saddr = { kind: 'payload', base: 'network', offset: 8, length: 16, register: 1 } as const;
  const mark = { kind: 'meta', key: 'mark', register: 1 } as const;
  const setMark = { kind: 'meta-set', key: 'mark', register: 1 } as const;
  const tcp = [
    { kind: 'meta', key: 'l4proto', register: 1 },
    { kind: 'compare', is: 'equal', register: 1, data: Uint8Array.of(6) },
  ] as const;
  const drop = { kind: 'verdict', verdict: { kind: 'drop' } } as const;
  const rule = (expressions: Extract<NftOperation, { op: 'add-rule' }>['rule']['expressions'], comment?: string) =>
    ({ op: 'add-rule', rule: { chain: 'c', expressions, ...(comment && { comment }) } }) as const;
  assertSameBytes(
    IPv6,
    `table ip6 t { }
     add chain ip6 t c
     add map ip6 t m { type ipv6_addr : ipv6_addr; flags dynamic,timeout; }
     add rule ip6 t c fib saddr type local meta mark set meta mark | 0x4000 comment "mark"
     add rule ip6 t c meta mark & 0x4000 != 0 meta mark set meta mark ^ 0x4000 masquerade fully-random
     add rule ip6 t c reject
     add rule ip6 t c meta l4proto tcp dnat to ip6 saddr map @m : 8080
     add rule ip6 t c iifname "pod-*" goto c
     add rule ip6 t c iifname != "cni0" drop
     add rule ip6 t c update @m { ip6 saddr timeout 60s : ip6 daddr }
     add rule ip6 t c ct state new ct status dnat drop`,
    [
      { op: 'add-table' },
      { op: 'add-chain', chain: { name: 'c' } },
      { op: 'add-set', set },
      rule(
        [
          { kind: 'fib-type', of: 'saddr', register: 1 },
          { kind: 'compare', is: 'equal', register: 1, data: host(2) },
          mark,
          { kind: 'bitwise', register: 1, mask: host(~0x4000), xor: host(0x4000), isComputation: true },
          setMark,
        ],
        'mark',
      ),
      rule([
        mark,
        { kind: 'bitwise', register: 1, mask: host(0x4000), xor: host(0), isComputation: true },
        { kind: 'compare', is: 'not-equal', register: 1, data: host(0) },
        mark,
        { kind: 'bitwise', register: 1, mask: host(0xffffffff), xor: host(0x4000), isComputation: true },
        setMark,
        { kind: 'masquerade', isFullyRandom: true },
      ]),
      rule([{ kind: 'reject-port-unreachable' }]),
      rule([
        ...tcp,
        saddr,
        { kind: 'lookup', set: 'm', register: 1, into: 1 },
        { kind: 'immediate', register: 2, data: Uint8Array.of(0x1f, 0x90) },
        { kind: 'dnat', addressRegister: 1, portRegister: 2, isPortConstant: true },
      ]),
      rule([
        { kind: 'meta', key: 'iifname', register: 1 },
        { kind: 'compare', is: 'equal', register: 1, data: Buffer.from('pod-') },
        { kind: 'verdict', verdict: { kind: 'goto', chain: 'c' } },
      ]),
      rule([
        { kind: 'meta', key: 'iifname', register: 1 },
        { kind: 'compare', is: 'not-equal', register: 1, data: Buffer.concat([Buffer.from('cni0')], 16) },
        drop,
      ]),
      rule([
        saddr,
        { kind: 'payload', base: 'network', offset: 24, length: 16, register: 2 },
        { kind: 'update', map: 'm', keyRegister: 1, valueRegister: 2, timeoutSeconds: 60 },
      ]),
      rule([
        { kind: 'ct', key: 'state', register: 1 },
        { kind: 'bitwise', register: 1, mask: host(8), xor: host(0) },
        { kind: 'compare', is: 'not-equal', register: 1, data: host(0) },
        { kind: 'ct', key: 'status', register: 1 },
        { kind: 'bitwise', register: 1, mask: host(32), xor: host(0) },
        { kind: 'compare', is: 'not-equal', register: 1, data: host(0) },
        drop,
      ]),
    ],
  );
});

test('deletions', () => {
  const set: NftSet = { name: 's', key: ['ipv4_addr'] };
  execFileSync('nft', ['-f', '-'], {
    input: 'table ip t { set s { type ipv4_addr; elements = { 10.0.0.1 } }; chain c { }; }',
  });
  const text = `delete element ip t s { 10.0.0.1 }
    flush set ip t s
    flush chain ip t c
    delete set ip t s
    delete chain ip t c
    delete table ip t`;
  assertSameBytes(IPv4, text, [
    { op: 'delete-elements', set, keys: ['10.0.0.1'] },
    { op: 'flush-set', set: 's' },
    { op: 'flush-chain', chain: 'c' },
    { op: 'delete-set', set: 's' },
    { op: 'delete-chain', chain: 'c' },
    { op: 'delete-table' },
  ]);
});

function assertSameBytes(table: NftTable, nftText: string, operations: readonly NftOperation[]): void {
  const { stdout, stderr, status } = spawnSync('nft', ['--debug=mnl', '-f', '-'], { input: nftText, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  spawnSync('nft', ['flush', 'ruleset']);
  const theirs = steps(stdout.split('\n').map(withoutColour));
  const ours = steps(mnlPrint(encodeBatch('nftables', encodeSteps(table, operations), 0)));
  assert.equal(theirs.length, operations.length);
  assert.deepEqual(ours, theirs);
}

/** The messages of the transaction alone: from after BATCH_BEGIN (type 16) to before BATCH_END (17). */
function steps(lines: readonly string[]): string[] {
  const text = lines.join('\n');
  const messages = text.split(/^-+\t-+\n(?=\| {2}\d{10} {2}\|)/m);
  const types = messages.map((message) => Number(/\| (\d{5}) \|/.exec(message)?.[1]));
  return messages
    .slice(types.lastIndexOf(16) + 1, types.lastIndexOf(17))
    .map((message) => message.replace(/\| \d{5} \|.*\n.*\n/, ''));
}

function withoutColour(line: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what colours begin with
  return line.replace(/\x1b\[[0-9;]*m/g, '');
}

/** As libmnl prints a datagram; see mnl_nlmsg_fprintf. */
function mnlPrint(datagram: Uint8Array): string[] {
  const view = new DataView(datagram.buffer, datagram.byteOffset);
  const lines: string[] = [];
  const rule = '----------------\t------------------';
  const pad = (value: number, width: number): string => String(value).padStart(width, '0');
  for (let at = 0; at < datagram.length; ) {
    const end = at + view.getUint32(at, true);
    lines.push(
      rule,
      `|  ${pad(end - at, 10)}  |\t| message length |`,
      `| ${pad(view.getUint16(at + 4, true), 5)} | R--- |\t|  type | flags  |`,
    );
    lines.push(`|  ${pad(0, 10)}  |\t| sequence number|`, `|  ${pad(0, 10)}  |\t|     port ID    |`, rule);
    let dataUntil = at + 20;
    for (let word = at + 16; word < end; word += 4) {
      const bytes = datagram.subarray(word, word + 4);
      const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
      if (word === at + 16) lines.push(`| ${hex}  |\t|  extra header  |`);
      else if (word < dataUntil) {
        const letters = Array.from(bytes, (byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : ' '));
        lines.push(`| ${hex}  |\t|      data      |\t ${letters.join(' ')}`);
      } else {
        const length = view.getUint16(word, true);
        const type = view.getUint16(word + 2, true);
        const isNested = (type & 0x8000) !== 0;
        lines.push(`|${pad(length, 5)}|${isNested ? 'N' : '-'}-|${pad(type & 0x3fff, 5)}|\t|len |flags| type|`);
        dataUntil = isNested ? word + 4 : word + ((length + 3) & ~3);
      }
    }
    lines.push(rule);
    at = end;
  }
  return lines;
}
