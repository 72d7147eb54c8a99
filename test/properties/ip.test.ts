import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { cidrContains, cidrPrefixLength, familyOf, formatIp, ipBytes, parseCidr, parseIp } from '../../src/lib/ip.ts';

const ipv4 = fc.uint8Array({ minLength: 4, maxLength: 4 });
/** Groups of zeros are frequent, so that they are compressed in every way; IPv4-mapped ones count as IPv4. */
const ipv6 = fc
  .array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), { minLength: 8, maxLength: 8 })
  .filter((groups) => !(groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff))
  .map((groups) => Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 255])));
const address = fc.oneof(ipv4, ipv6);

describe('for any address', () => {
  test('the text of its bytes has these bytes', () =>
    fc.assert(fc.property(address, (bytes) => assert.deepEqual(ipBytes(formatIp(bytes)), bytes))));

  test('canonical text is its own canonical text', () =>
    fc.assert(fc.property(address, (bytes) => assert.equal(parseIp(formatIp(bytes)), formatIp(bytes)))));

  test('the text is what a URL makes of it', () =>
    fc.assert(
      fc.property(ipv6, (bytes) => {
        const groups = Array.from({ length: 8 }, (_, i) => ((bytes[2 * i]! << 8) | bytes[2 * i + 1]!).toString(16));
        assert.equal(`[${parseIp(groups.join(':'))}]`, new URL(`http://[${groups.join(':')}]/`).hostname);
      }),
    ));

  test('upper case and leading zeros make no difference', () =>
    fc.assert(
      fc.property(address, (bytes) => {
        const text = formatIp(bytes);
        const padded = text
          .split('.')
          .map((octet) => octet.padStart(3, '0'))
          .join('.');
        assert.equal(parseIp(familyOf(text) === 'IPv4' ? padded : text.toUpperCase()), text);
      }),
    ));
});

describe('for any network', () => {
  const network = address.chain((bytes) => fc.tuple(fc.constant(bytes), fc.integer({ min: 0, max: bytes.length * 8 })));

  test('it contains the address it was made of, and keeps its length', () =>
    fc.assert(
      fc.property(network, ([bytes, length]) => {
        const cidr = parseCidr(`${formatIp(bytes)}/${length}`)!;
        assert.ok(cidrContains(cidr, formatIp(bytes)));
        assert.equal(cidrPrefixLength(cidr), length);
        assert.equal(parseCidr(cidr), cidr);
      }),
    ));

  test('it contains another address if and only if their first bits agree', () =>
    fc.assert(
      fc.property(network, address, ([bytes, length], other) => {
        const bits = (of: Uint8Array): string => [...of].map((byte) => byte.toString(2).padStart(8, '0')).join('');
        const agree = bytes.length === other.length && bits(bytes).slice(0, length) === bits(other).slice(0, length);
        assert.equal(cidrContains(parseCidr(`${formatIp(bytes)}/${length}`)!, formatIp(other)), agree);
      }),
    ));
});

test('text that is no address is refused: what we accept, others accept too', () =>
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'0123456789abcdef:.%/[] ') })), (text) => {
      const ip = parseIp(text);
      if (ip !== undefined) assert.notEqual(isIP(ip), 0);
      if (isIP(text) !== 0 && !text.includes('%')) assert.notEqual(ip, undefined);
    }),
    { numRuns: 2000 },
  ));
