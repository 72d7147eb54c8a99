import assert from 'node:assert/strict';
import test from 'node:test';
import { MessageWriter } from './netlink/attributes.ts';
import { decodeExpressions } from './nftables-decode.ts';
import { decodeSet } from './nftables-decode-sets.ts';
import { writeExpression } from './nftables-expressions.ts';
import type { NftExpression, NftHeldSet, NftSet, NftTable } from './nftables-objects.ts';
import { setFlags, valueTypeId } from './nftables-steps.ts';
import { typeId } from './nftables-values.ts';

const table: NftTable = { family: 'IPv4', name: 't' };

const EXPRESSIONS: readonly NftExpression[] = [
  { kind: 'payload', base: 'network', offset: 16, length: 4, register: 1 },
  { kind: 'payload', base: 'transport', offset: 2, length: 2, register: 10 },
  { kind: 'meta', key: 'l4proto', register: 9 },
  { kind: 'meta', key: 'iifname', register: 1 },
  { kind: 'meta-set', key: 'mark', register: 1 },
  { kind: 'ct', key: 'state', register: 1 },
  { kind: 'ct-original', key: 'proto-dst', register: 10 },
  { kind: 'fib-type', of: 'daddr', register: 1 },
  { kind: 'compare', is: 'not-equal', register: 1, data: Uint8Array.of(10, 244) },
  { kind: 'bitwise', register: 1, mask: Uint8Array.of(255, 0, 0, 0), xor: new Uint8Array(4) },
  { kind: 'lookup', register: 1, set: 'cluster-ips', isNegated: true },
  { kind: 'lookup', register: 1, set: 'service-ips', into: 0 },
  { kind: 'numgen-random', modulus: 3, offset: 2, register: 10 },
  { kind: 'dnat', addressRegister: 1, portRegister: 9 },
  { kind: 'masquerade', isFullyRandom: true },
  { kind: 'masquerade', isFullyRandom: false },
  { kind: 'reject-port-unreachable' },
  { kind: 'verdict', verdict: { kind: 'goto', chain: 'services' } },
  { kind: 'verdict', verdict: { kind: 'drop' } },
  { kind: 'immediate', register: 2, data: Uint8Array.of(0x1f, 0x90) },
  { kind: 'update', map: 'clients', keyRegister: 1, valueRegister: 2, timeoutSeconds: 10_800 },
];

function encoded(expression: NftExpression, family = table.family): Uint8Array {
  const writer = new MessageWriter();
  writeExpression(writer, { ...table, family }, expression, (name) => ({ name: String(name), id: undefined }));
  return writer.written().slice();
}

for (const expression of EXPRESSIONS) {
  test(`${JSON.stringify(expression)} is read as it was written`, () => {
    const [decoded] = decodeExpressions(encoded(expression), table)!;
    assert.deepEqual(JSON.stringify(decoded), JSON.stringify({ ...decoded, ...expression }));
    assert.deepEqual(encoded(decoded!), encoded(expression));
  });
}

test('a rule of which one expression is not known is not known', () => {
  const unknown = new MessageWriter();
  unknown.nest(1, () => unknown.text(1, 'queue'));
  const bytes = Buffer.concat([encoded(EXPRESSIONS[0]!), unknown.written()]);
  assert.equal(decodeExpressions(bytes, table), undefined);
});

test('an attribute that we never write makes an expression unknown', () => {
  const writer = new MessageWriter();
  writer.nest(1, () => {
    writer.text(1, 'payload');
    writer.nest(2, () => {
      for (const [type, value] of [1, 1, 16, 4].entries()) writer.u32(type + 1, value);
      writer.u32(5, 1); // NFTA_PAYLOAD_SREG: it would write into the packet
    });
  });
  assert.equal(decodeExpressions(writer.written(), table), undefined);
});

test('what the other family’s numbers say is not taken for ours', () => {
  assert.equal(decodeExpressions(encoded({ kind: 'reject-port-unreachable' }, 'IPv6'), table), undefined);
  const dnat = { kind: 'dnat', addressRegister: 1, portRegister: 9 } as const;
  assert.equal(decodeExpressions(encoded(dnat, 'IPv6'), table), undefined);
});

function held(set: NftSet, flags = setFlags(set)): NftHeldSet {
  const { name, key, hasCounters = false } = set;
  return { name, flags, keyType: typeId(key), valueType: valueTypeId(set), hasCounters, comment: undefined };
}

test('sets and maps are read with their types', () => {
  const sets: readonly NftSet[] = [
    { name: 'a', key: ['ipv4_addr'] },
    { name: 'b', key: ['ipv6_addr'], isInterval: true },
    { name: 'c', key: ['ipv4_addr', 'inet_proto', 'inet_service', 'ipv4_addr', 'inet_service'], value: 'verdict' },
    { name: 'd', key: ['inet_service', 'integer'], value: ['ipv4_addr', 'inet_service'], hasCounters: true },
    { name: 'e', key: ['ipv4_addr'], value: ['ipv4_addr'], isDynamic: true, hasTimeout: true },
  ];
  for (const set of sets) assert.deepEqual(decodeSet(held(set)), set);
});

test('sets of kinds that we never make are not read', () => {
  assert.equal(decodeSet(held({ name: 'a', key: ['mark'] })), undefined);
  assert.equal(decodeSet(held({ name: 'a', key: ['inet_service'], isInterval: true })), undefined);
  assert.equal(decodeSet(held({ name: 'a', key: ['ipv4_addr'] }, 0x40)), undefined);
});
