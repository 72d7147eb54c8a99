import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  IpvsRequests,
  readBackend,
  readBackendTraffic,
  readServer,
  readServerTraffic,
  readTimeouts,
} from './ipvs-codec.ts';
import { MessageWriter } from './netlink/attributes.ts';
import type { NetlinkStep } from './netlink/steps.ts';

const requests = new IpvsRequests(0x22);
const KEY = { protocol: 'TCP', ip: '10.96.14.3', port: 80 } as const;

/** The message without its netlink header, in groups of four bytes. */
function bytesOf(step: Pick<NetlinkStep, 'write'>): string {
  const writer = new MessageWriter();
  step.write(writer);
  return Buffer.from(writer.written())
    .toString('hex')
    .replace(/(.{8})(?=.)/g, '$1 ');
}

test('a new virtual server has the bytes that a 6.1 kernel took', () => {
  const step = requests.addServer({ ...KEY, scheduler: 'rr', flags: 0, timeoutSeconds: 0 });
  assert.equal(
    bytesOf(step),
    '01010000 48000180 06000100 02000000 06000200 06000000 08000300 0a600e03 06000400 00500000 07000600 72720000 ' +
      '0c000700 00000000 ffffffff 08000800 00000000 08000900 ffffffff',
  );
  assert.equal(step.type, 0x22);
});

test('a real server follows the key of its virtual server', () => {
  const step = requests.addBackend(KEY, { ip: '10.50.1.11', port: 8080, weight: 1 });
  assert.ok(
    bytesOf(step).endsWith(
      '34000280 08000100 0a32010b 06000200 1f900000 08000300 00000000 08000400 01000000 08000500 00000000 08000600 00000000',
    ),
    bytesOf(step),
  );
});

test('a refusal can be told in words', () => {
  const backend = { ip: 'fd00::1', port: 53, weight: 0 };
  const step = requests.setBackend({ protocol: 'UDP', ip: 'fd00:96::a', port: 53 }, backend);
  assert.equal(step.describe(), 'change real server [fd00::1]:53 (weight 0) of [fd00:96::a]:53/UDP');
});

test('a listed virtual server is read, without the flag that the kernel sets for itself', () => {
  const body = reply(1, (writer) => {
    writer.bytes(1, Uint8Array.of(10, 0));
    writer.bytes(2, Uint8Array.of(17, 0));
    writer.bytes(3, Uint8Array.of(0xfd, ...new Array<number>(14).fill(0), 1));
    writer.u16(4, 53);
    writer.text(6, 'mh');
    writer.bytes(7, Uint8Array.of(0x13, 0, 0, 0, 0xff, 0xff, 0xff, 0xff));
    writer.u32Host(8, 600);
  });
  const wanted = { protocol: 'UDP', ip: 'fd00::1', port: 53, scheduler: 'mh', flags: 0x11, timeoutSeconds: 600 };
  assert.deepEqual(readServer(body), wanted);
});

test('a virtual server that is known by a firewall mark alone is nobody of ours', () => {
  assert.equal(
    readServer(
      reply(1, (writer) => {
        writer.bytes(1, Uint8Array.of(2, 0));
        writer.u32Host(5, 7);
      }),
    ),
    undefined,
  );
});

test('a listed real server of IPv4 has its address in the first of sixteen bytes', () => {
  const body = reply(2, (writer) => {
    writer.bytes(1, Uint8Array.of(10, 50, 1, 11, ...new Array<number>(12).fill(0)));
    writer.u16(2, 8080);
    for (const [type, value] of [
      [4, 1],
      [7, 3],
      [8, 4],
    ] as const)
      writer.u32Host(type, value);
  });
  const wanted = { ip: '10.50.1.11', port: 8080, weight: 1, activeConnections: 3, inactiveConnections: 4 };
  assert.deepEqual(readBackend(body, KEY), wanted);
});

test('what servers have been given is read where the kernel counts it', () => {
  const counted = (writer: MessageWriter): void =>
    writer.nest(10, () => {
      writer.u32Host(1, 7);
      writer.bytes(4, Uint8Array.of(0, 0, 0, 0, 1, 0, 0, 0));
      writer.bytes(5, Uint8Array.of(5, 0, 0, 0, 0, 0, 0, 0));
    });
  const wanted = { connections: 7, bytesIn: 2 ** 32, bytesOut: 5 };
  assert.deepEqual(readServerTraffic(reply(1, counted)), wanted);
  assert.deepEqual(readBackendTraffic(reply(2, counted)), wanted);
  assert.equal(readServerTraffic(reply(1, () => {})), undefined);
});

test('timeouts go out and come back in seconds', () => {
  const writer = new MessageWriter();
  requests.setTimeouts({ tcp: 600, tcpFin: 30, udp: 60 }).write(writer);
  assert.deepEqual(readTimeouts(writer.written()), { tcp: 600, tcpFin: 30, udp: 60 });
});

function reply(nest: number, write: (writer: MessageWriter) => void): Uint8Array {
  const writer = new MessageWriter();
  writer.raw(1, 1, 0, 0);
  writer.nest(nest, () => write(writer));
  return writer.written();
}
