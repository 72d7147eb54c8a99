import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addEntry, createSet, entryText, type IpSet, readListing } from './ipset-codec.ts';
import { MessageWriter } from './netlink/attributes.ts';
import type { NetlinkStep } from './netlink/steps.ts';

const LOOP_BACK: IpSet = { name: 'KUBE-LOOP-BACK', type: 'hash:ip,port,ip', family: 'IPv4' };

function bytesOf(step: NetlinkStep): string {
  const writer = new MessageWriter();
  step.write(writer);
  return Buffer.from(writer.written())
    .toString('hex')
    .replace(/(.{8})(?=.)/g, '$1 ');
}

test('an entry has the bytes that a kernel took', () => {
  const entry = { ip: '10.50.1.12', protocol: 'TCP', port: 8443, ip2: '10.50.1.12' } as const;
  assert.ok(
    bytesOf(addEntry(LOOP_BACK, entry)).endsWith(
      '0c000180 08000140 0a32010c 06000440 20fb0000 05000700 06000000 0c001480 08000140 0a32010c',
    ),
  );
});

test('a set is made with its type, revision, family and size', () => {
  assert.match(bytesOf(createSet(LOOP_BACK, 6)), /^02000000 05000100 07000000 13000200 4b554245/);
  assert.match(
    bytesOf(createSet(LOOP_BACK, 6)),
    /05000400 06000000 05000500 02000000 14000780 08001240 00000400 08001340 00010000$/,
  );
});

test('a set of ports has a range and no family', () => {
  const set: IpSet = { name: 'KUBE-NODE-PORT-TCP', type: 'bitmap:port', family: 'IPv6' };
  assert.match(bytesOf(createSet(set, 3)), /05000500 00000000 14000780 06000440 00000000 06000540 ffff0000$/);
});

const TEXTS = [
  [{ port: 30080 }, '30080'],
  [{ ip: '10.96.0.1' }, '10.96.0.1'],
  [{ ip: 'fd00::1', protocol: 'SCTP', port: 9 }, 'fd00::1,sctp:9'],
  [{ ip: '1.2.3.4', protocol: 'TCP', port: 443, ip2: '198.18.0.0', prefix2: 15 }, '1.2.3.4,tcp:443,198.18.0.0/15'],
  [{ ip: '1.2.3.4', protocol: 'TCP', port: 443, ip2: '198.51.100.7', prefix2: 32 }, '1.2.3.4,tcp:443,198.51.100.7'],
] as const;

test('entries are written as ipset save writes them', () => {
  for (const [entry, text] of TEXTS) assert.equal(entryText(entry), text);
});

test('a listing gives the entries of a set back', () => {
  const writer = new MessageWriter();
  writer.raw(2, 0, 0, 0);
  writer.text(2, 'S');
  writer.text(3, 'hash:ip,port,net');
  const entry = { ip: '1.2.3.4', protocol: 'UDP', port: 53, ip2: '10.0.0.0', prefix2: 8 } as const;
  const added = new MessageWriter();
  addEntry({ name: 'S', type: 'hash:ip,port,net', family: 'IPv4' }, entry).write(added);
  writer.nest(8, () => writer.bytes(7 | 0x8000, added.written().slice(4 + 8 + 8 + 4)));
  assert.deepEqual(readListing(writer.written()), { name: 'S', type: 'hash:ip,port,net', entries: [entry] });
});
