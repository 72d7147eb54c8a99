// Keys and values of nf_tables survive the way to bytes and back, and ranges of addresses keep exactly their addresses.
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { NftType } from '../../src/kernel/nftables-objects.ts';
import { formatRange } from '../../src/kernel/nftables-read.ts';
import { decodeValue, encodeValue, formatVerdict, intervals, parseVerdict } from '../../src/kernel/nftables-values.ts';
import { cidrContains, formatIp, ipBytes, parseCidr } from '../../src/lib/ip.ts';

const anyIPv4 = fc.uint8Array({ minLength: 4, maxLength: 4 }).map(formatIp);
const anyIPv6 = fc
  .uint8Array({ minLength: 16, maxLength: 16 })
  .map(formatIp)
  .filter((text) => ipBytes(text).length === 16);
const anyPart: Readonly<Record<NftType, fc.Arbitrary<string>>> = {
  ipv4_addr: anyIPv4,
  ipv6_addr: anyIPv6,
  inet_proto: fc.constantFrom('tcp', 'udp', 'sctp'),
  inet_service: fc.nat(65535).map(String),
  mark: fc.nat(0xffffffff).map(String),
  integer: fc.nat(0xffffffff).map(String),
};
const anyTyped = fc
  .array(fc.constantFrom<NftType>('ipv4_addr', 'ipv6_addr', 'inet_proto', 'inet_service', 'mark', 'integer'), {
    minLength: 1,
    maxLength: 5,
  })
  .chain((types) => fc.tuple(fc.constant(types), fc.tuple(...types.map((type) => anyPart[type]))));

test('a key reads back as it was written', () => {
  fc.assert(
    fc.property(anyTyped, ([types, parts]) => {
      const text = parts.join(' . ');
      assert.equal(decodeValue(types, encodeValue(types, text)), text);
    }),
  );
});

test('a verdict reads back as it was written', () => {
  const anyVerdict = fc.oneof(
    fc.constantFrom('drop', 'accept', 'return'),
    fc
      .tuple(fc.constantFrom('jump', 'goto'), fc.stringMatching(/^[a-z][a-z0-9/-]{0,40}$/))
      .map((words) => words.join(' ')),
  );
  fc.assert(fc.property(anyVerdict, (text) => assert.equal(formatVerdict(parseVerdict(text)), text)));
});

test('merged ranges hold an address exactly when one of the networks does, and never touch', () => {
  // Few bits differ, so that networks overlap and touch often.
  const anyNearIPv4 = fc.nat(0xffff).map((low) => `10.0.${low >> 8}.${low & 0xff}`);
  const anyNetwork = fc
    .tuple(anyNearIPv4, fc.integer({ min: 16, max: 32 }))
    .map(([ip, length]) => parseCidr(`${ip}/${length}`)!);
  fc.assert(
    fc.property(fc.array(anyNetwork, { minLength: 1, maxLength: 6 }), anyNearIPv4, (networks, ip) => {
      const merged = intervals(networks);
      const address = ipBytes(ip);
      const isInside = merged.some(
        ({ start, end }) => Buffer.compare(start, address) <= 0 && (!end || Buffer.compare(address, end) < 0),
      );
      assert.equal(
        isInside,
        networks.some((network) => cidrContains(network, ip)),
      );
      for (const [i, { start }] of merged.entries()) {
        if (i > 0) assert.ok(Buffer.compare(merged[i - 1]!.end!, start) < 0);
      }
    }),
  );
});

test('a network becomes a range and back the same network', () => {
  const anyNetwork = fc.oneof(
    fc.tuple(anyIPv4, fc.integer({ min: 0, max: 31 })),
    fc.tuple(anyIPv6, fc.integer({ min: 0, max: 127 })),
  );
  fc.assert(
    fc.property(anyNetwork, ([ip, length]) => {
      const network = parseCidr(`${ip}/${length}`)!;
      fc.pre((network.includes(':') ? 16 : 4) === ipBytes(ip).length);
      const [range] = intervals([network]);
      assert.equal(formatRange(range!.start, range!.end), network);
    }),
  );
});
