// Entries of IP sets survive the way to bytes and back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { addEntry, readListing, type SetEntry } from '../../src/kernel/ipset-codec.ts';
import { MessageWriter, readAttributes } from '../../src/kernel/netlink/attributes.ts';
import { formatIp } from '../../src/lib/ip.ts';

// 0xfd in front: an IPv4 address in IPv6's clothes would be read as what it is.
const ip = fc
  .constantFrom(4, 16)
  .chain((length) => fc.uint8Array({ minLength: length, maxLength: length }))
  .map((bytes) => formatIp(bytes.with(0, 0xfd)));
const port = fc.integer({ min: 0, max: 65535 });
const protocol = fc.constantFrom('TCP', 'UDP', 'SCTP');
const entry: fc.Arbitrary<SetEntry> = fc.oneof(
  fc.record({ port }),
  fc.record({ ip }),
  fc.record({ ip, protocol, port }),
  fc.record({ ip, protocol, port, ip2: ip }),
  fc.record({ ip, protocol, port, ip2: ip, prefix2: fc.integer({ min: 1, max: 128 }) }),
) as fc.Arbitrary<SetEntry>;

test('what a listing gives back is what was added', () => {
  fc.assert(
    fc.property(entry, (wanted) => {
      const request = new MessageWriter();
      addEntry({ name: 'S', type: 'hash:ip', family: 'IPv4' }, wanted).write(request);
      const data = readAttributes(request.written(), 4).get(7)!;
      const reply = new MessageWriter();
      reply.raw(2, 0, 0, 0);
      reply.text(2, 'S');
      reply.text(3, 'hash:ip');
      reply.nest(8, () => reply.bytes(7, data));
      assert.deepEqual(readListing(reply.written()).entries, [{ ...wanted }]);
    }),
  );
});
