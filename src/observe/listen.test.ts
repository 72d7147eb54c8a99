import assert from 'node:assert/strict';
import { Agent, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { closeServer, goListenError, keepListening, listen, socketChoices } from './listen.ts';

test('both wildcards mean one socket for both families, with IPv4 alone where the host has no IPv6', () => {
  const choices = [
    { host: '::', port: 10256, isSingleFamily: false },
    { host: '0.0.0.0', port: 10256, isSingleFamily: true },
  ];
  assert.deepEqual(socketChoices('0.0.0.0:10256'), choices);
  assert.deepEqual(socketChoices('[::]:10256'), choices);
  assert.deepEqual(socketChoices('127.0.0.1:10249'), [{ host: '127.0.0.1', port: 10249, isSingleFamily: true }]);
  assert.deepEqual(socketChoices('[::1]:10249'), [{ host: '::1', port: 10249, isSingleFamily: true }]);
});

test('an address the host cannot have gives way to the next choice', async (t) => {
  const server = await listen(() => {}, [
    { host: '2001:db8::1', port: 0, isSingleFamily: false },
    { host: '127.0.0.1', port: 0, isSingleFamily: true },
  ]);
  t.after(() => closeServer(server));
  assert.equal((server.address() as AddressInfo).address, '127.0.0.1');
});

test('an address that is taken does not give way', async (t) => {
  const first = await listen(() => {}, [{ host: '127.0.0.1', port: 0, isSingleFamily: true }]);
  t.after(() => closeServer(first));
  const { port } = first.address() as AddressInfo;
  const choices = [
    { host: '127.0.0.1', port, isSingleFamily: true },
    { host: '127.0.0.1', port: 0, isSingleFamily: true },
  ];
  await assert.rejects(
    listen(() => {}, choices),
    { code: 'EADDRINUSE' },
  );
});

test('a connection between two questions is kept open for as long as the client likes', async (t) => {
  const server = await listen(
    (_, response) => response.end('ok'),
    [{ host: '127.0.0.1', port: 0, isSingleFamily: true }],
  );
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  t.after(() => closeServer(server));
  const { port } = server.address() as AddressInfo;
  const headers = await new Promise<NodeJS.Dict<string | string[]>>((resolve, reject) => {
    get({ host: '127.0.0.1', port, agent }, (response) => {
      response.resume().on('end', () => resolve(response.headers));
    }).on('error', reject);
  });
  assert.equal(headers.connection, 'keep-alive');
  assert.equal(headers['keep-alive'], undefined); // no time after which it ends
  assert.equal(server.keepAliveTimeout, 0);
});

test('a server closed before it could listen neither listens later nor tells', async () => {
  const told: unknown[] = [];
  const server = keepListening({
    bindAddress: '127.0.0.1:0',
    answer: () => {},
    isHardFail: false,
    onRetry: (error) => told.push(error),
    onFatal: (error) => told.push(error),
    onListening: (address) => told.push(address),
  });
  await server.close();
  assert.deepEqual(told, []);
});

test('errors are told in the words operators search for', () => {
  const taken = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE' });
  assert.equal(goListenError('tcp6', '[::]:30100', taken), 'listen tcp6 [::]:30100: bind: address already in use');
  assert.equal(goListenError('tcp', '0.0.0.0:1', new Error('odd')), 'listen tcp 0.0.0.0:1: bind: odd');
});
