import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import { getPage } from './http.ts';

const PAGE = new URL('http://summary.yaobank/');

test('a question ends where nobody answers it', async () => {
  const server = net.createServer(() => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  const socket = net.connect(port, '127.0.0.1');
  try {
    await assert.rejects(getPage(PAGE, Promise.resolve(socket)), { code: 'ETIMEDOUT' });
    assert.ok(socket.destroyed);
  } finally {
    socket.destroy();
    server.close();
  }
});

test('a question ends where its connection never comes, and one that comes late is closed', async () => {
  const { promise, resolve } = Promise.withResolvers<net.Socket>();
  await assert.rejects(getPage(PAGE, promise), { code: 'ETIMEDOUT' });
  const late = new net.Socket();
  resolve(late);
  await new Promise(setImmediate);
  assert.ok(late.destroyed);
});
