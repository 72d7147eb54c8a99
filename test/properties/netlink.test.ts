// What the codecs write they read back, whatever it is; and no bytes at all make the readers loop or run past the end.
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  MessageWriter,
  readAttributes,
  readList,
  textOf,
  u16,
  u32,
  u32Host,
  u64,
} from '../../src/kernel/netlink/attributes.ts';
import { decodeMessages, encodeMessage } from '../../src/kernel/netlink/message.ts';

const anyMessage = fc.record({
  type: fc.nat(0xffff),
  flags: fc.nat(0xffff),
  sequence: fc.nat(0xffffffff),
  portId: fc.nat(0xffffffff),
  body: fc.uint8Array({ maxLength: 64 }),
});

test('a datagram of messages reads back as the same messages', () => {
  fc.assert(
    fc.property(fc.array(anyMessage, { maxLength: 8 }), (messages) => {
      const datagram = new Uint8Array(Buffer.concat(messages.map(encodeMessage)));
      const read = decodeMessages(datagram);
      assert.deepEqual(
        read.map((message) => ({ ...message, body: Array.from(message.body) })),
        messages.map((message) => ({ ...message, body: Array.from(message.body) })),
      );
    }),
  );
});

test('attributes of every kind read back as they were written', () => {
  const values = fc.record({
    bytes: fc.uint8Array({ maxLength: 300 }),
    small: fc.nat(0xff),
    short: fc.nat(0xffff),
    word: fc.nat(0xffffffff),
    host: fc.nat(0xffffffff),
    long: fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
    text: fc.string({ unit: 'grapheme', maxLength: 100 }).filter((text) => !text.includes('\0')),
  });
  fc.assert(
    fc.property(values, (value) => {
      const writer = new MessageWriter(1); // so small that every write may have to move what was written
      writer.bytes(1, value.bytes);
      writer.u8(2, value.small);
      writer.u16(3, value.short);
      writer.nest(4, () => {
        writer.u32(1, value.word);
        writer.nest(2, () => writer.u32Host(1, value.host));
      });
      writer.u64(5, value.long);
      writer.text(6, value.text);
      writer.flag(7);
      const read = readAttributes(writer.written());
      assert.deepEqual(Array.from(read.get(1)!), Array.from(value.bytes));
      assert.equal(read.get(2)![0], value.small);
      assert.equal(u16(read.get(3)!), value.short);
      const nest = readAttributes(read.get(4)!);
      assert.equal(u32(nest.get(1)!), value.word);
      assert.equal(u32Host(readAttributes(nest.get(2)!).get(1)!), value.host);
      assert.equal(u64(read.get(5)!), value.long);
      assert.equal(textOf(read.get(6)!), value.text);
      assert.equal(read.get(7)!.length, 0);
    }),
  );
});

test('arbitrary bytes are read as something or refused, and never past their end', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      for (const read of [() => decodeMessages(bytes).length, () => readList(bytes).length]) {
        try {
          assert.ok(read() <= bytes.length / 4);
        } catch (error) {
          assert.match(String(error), /claims \d+ bytes where \d+ are left/);
        }
      }
    }),
  );
});
