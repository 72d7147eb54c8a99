import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cidrContains, familyOf, hostCidr, hostPort, ipBytes, isLoopback, parseCidr, parseIp } from './ip.ts';

describe('an address in canonical text', () => {
  const same: Readonly<Record<string, string | undefined>> = {
    '10.0.010.1': '10.0.10.1',
    '010.000.0.08': '10.0.0.8',
    '255.255.255.255': '255.255.255.255',
    '::': '::',
    '::1': '::1',
    '1::': '1::',
    'FD66::0:7': 'fd66::7',
    '2001:db8:0:0:1:0:0:1': '2001:db8::1:0:0:1',
    '2001:0:0:1:0:0:0:1': '2001:0:0:1::1',
    '1:2:3:4:5:6:7:8': '1:2:3:4:5:6:7:8',
    '1:2:3:4:5:6:7::': '1:2:3:4:5:6:7:0',
    '0:1:0:1:0:1:0:1': '0:1:0:1:0:1:0:1',
    '64:ff9b::192.0.2.1': '64:ff9b::c000:201',
    '::ffff:192.0.2.1': '192.0.2.1',
    '::FFFF:C000:0201': '192.0.2.1',
    '::192.0.2.1': '::c000:201',
  };
  for (const [text, canonical] of Object.entries(same))
    test(`of ${text} is ${canonical}`, () => assert.equal(parseIp(text), canonical));

  const none = [
    '',
    ' 10.0.0.1',
    '10.0.0',
    '10.0.0.256',
    '10.0.0.1.2',
    '10.0.0.-1',
    '0x10.0.0.1',
    '10.0.0.1\n',
    '10.0.0.1/32',
  ];
  const none6 = ['1:2:3', ':::', '1::2::3', '12345::', 'g::', 'fe80::1%eth0', '1:2:3:4:5:6:7:8:9', '::1:2:3:4:5:6:7:8'];
  for (const text of [...none, ...none6, '1.2.3.4::', '::1.2.3', '[::1]', '１.2.3.4'])
    test(`of ${JSON.stringify(text)} does not exist`, () => assert.equal(parseIp(text), undefined));
});

describe('a network in canonical text', () => {
  const same: Readonly<Record<string, string | undefined>> = {
    '203.0.113.9/25': '203.0.113.0/25',
    '203.0.113.200/025': '203.0.113.128/25',
    '1.2.3.4/0': '0.0.0.0/0',
    '1.2.3.4/32': '1.2.3.4/32',
    '2001:db8::ffff/33': '2001:db8::/33',
    '2001:db8:ffff::/33': '2001:db8:8000::/33',
    '::/0': '::/0',
    '::ffff:10.0.0.9/120': '10.0.0.0/24',
    '10.0.0.0/33': undefined,
    '::/129': undefined,
    '10.0.0.0': undefined,
    '10.0.0.0/': undefined,
    '10.0.0.0/-1': undefined,
    '10.0.0.0/8/8': undefined,
    '::ffff:10.0.0.0/8': undefined,
  };
  for (const [text, canonical] of Object.entries(same))
    test(`of ${text} is ${canonical}`, () => assert.equal(parseCidr(text), canonical));
});

test('a network contains its addresses, and none of the other family', () => {
  assert.ok(cidrContains('10.0.0.0/9', '10.127.255.255'));
  assert.ok(!cidrContains('10.0.0.0/9', '10.128.0.0'));
  assert.ok(cidrContains('fd00::/65', 'fd00::7fff:0:0:1'));
  assert.ok(!cidrContains('::/0', '10.0.0.1'));
  assert.ok(!cidrContains('0.0.0.0/0', '::1'));
});

test('an address with a port is bracketed where it has colons', () => {
  assert.equal(hostPort('10.0.0.1', 80), '10.0.0.1:80');
  assert.equal(hostPort('fd00::1', 80), '[fd00::1]:80');
});

test('an address is a network of itself', () => {
  assert.equal(hostCidr('10.0.0.1'), '10.0.0.1/32');
  assert.equal(hostCidr('fd00::1'), 'fd00::1/128');
});

test('loopback is all of 127.0.0.0/8, and ::1 alone', () => {
  assert.deepEqual(['127.9.9.9', '::1', '128.0.0.1', '::2'].map(isLoopback), [true, true, false, false]);
});

test('bytes are in network order, and only of canonical text', () => {
  assert.deepEqual([...ipBytes('10.0.0.1')], [10, 0, 0, 1]);
  assert.equal(ipBytes('fd00::1').length, 16);
  assert.equal(familyOf('fd00::/8'), 'IPv6');
  assert.throws(() => ipBytes('10.0.0'), /not an IP address/);
});
