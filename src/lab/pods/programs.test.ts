// The programs of pods, where they are more than a page: names of images, DNS and redis as bytes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AddressPool } from './address-pool.ts';
import { dnsAnswer } from './dns.ts';
import { programFor } from './programs.ts';
import { answer, takeCommand } from './redis.ts';

test('an image is known by its last name, whatever its registry, tag or digest', () => {
  const about = (image: string) => programFor(image).about;
  assert.equal(about('docker.io/library/nginx:1.27@sha256:00'), about('nginx'));
  assert.equal(about('registry:5000/calico/yaobank-customer:v1'), about('yaobank/customer'));
  assert.equal(about('redis:7-alpine'), about('redis'));
  assert.equal(about('busybox'), about('alpine:3'));
  assert.match(about('example/unheard-of'), /an echo/);
});

//  id 0x1234, recursion desired, one question: a.b IN TYPE
const question = (type: number) =>
  Uint8Array.of(0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0x61, 1, 0x62, 0, 0, type, 0, 1);
const resolve = (name: string) => (name === 'a.b' ? ['10.96.0.1', 'fd00::1'] : undefined);

test('DNS answers with the addresses of the family that was asked for', () => {
  const v4 = Buffer.from(dnsAnswer(question(1), resolve)!);
  assert.equal(v4.toString('hex', 0, 12), '123485000001000100000000');
  assert.equal(v4.toString('hex', 21), 'c00c0001000100000005' + '00040a600001');
  const v6 = Buffer.from(dnsAnswer(question(28), resolve)!);
  assert.equal(v6.toString('hex', 21), `c00c001c0001000000050010fd00${'0'.repeat(26)}01`.slice(0, 56));
});

test('DNS tells a name that is not there from one without such an address, and is silent to noise', () => {
  const flags = (bytes: Uint8Array | undefined) => Buffer.from(bytes!).readUInt16BE(2) & 0xf;
  assert.equal(flags(dnsAnswer(question(16), resolve)), 0);
  assert.equal(flags(dnsAnswer(question(1), () => undefined)), 3);
  assert.equal(dnsAnswer(Uint8Array.of(1, 2, 3), resolve), undefined);
  assert.equal(dnsAnswer(question(1).slice(0, 16), resolve), undefined);
});

test('redis takes whole commands, in its protocol or as lines, and waits for the rest of others', () => {
  assert.deepEqual(takeCommand('*2\r\n$3\r\nGET\r\n$1\r\na\r\nPING\r\n'), { words: ['GET', 'a'], rest: 'PING\r\n' });
  assert.deepEqual(takeCommand('PING\r\n'), { words: ['PING'], rest: '' });
  assert.equal(takeCommand('*2\r\n$3\r\nGET\r\n$1\r\n'), undefined);
  assert.equal(takeCommand('PIN'), undefined);
});

test('redis remembers', () => {
  const values = new Map<string, string>();
  assert.equal(answer(values, ['get', 'color']), '$-1\r\n');
  assert.equal(answer(values, ['SET', 'color', 'blue']), '+OK\r\n');
  assert.equal(answer(values, ['GET', 'color']), '$4\r\nblue\r\n');
  assert.equal(answer(values, ['DEL', 'color']), ':1\r\n');
  assert.match(answer(values, ['FLY']), /^-ERR unknown command 'FLY'/);
});

test('a pod address is given out again only after all others', () => {
  const pool = new AddressPool(['10.0.0.0/29', 'fd00::/64']);
  const first = pool.take();
  assert.deepEqual(first, ['10.0.0.2', 'fd00::2']);
  pool.release(first);
  assert.deepEqual(
    [pool.take(), pool.take(), pool.take(), pool.take(), pool.take()].map(([ip]) => ip),
    ['10.0.0.3', '10.0.0.4', '10.0.0.5', '10.0.0.6', '10.0.0.2'],
  );
  assert.throws(() => pool.take(), /no pod address is left/);
});
