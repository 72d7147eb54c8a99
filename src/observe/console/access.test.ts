import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { isLoopbackAddress, refusal } from './access.ts';

function asked(path: string, headers: Record<string, string> = {}, method = 'GET', token?: string): number {
  const request = { method, headers: { host: '127.0.0.1:10253', ...headers } } as unknown as IncomingMessage;
  return refusal(request, new URL(path, 'http://localhost'), token)?.status ?? 200;
}

test('without a token, only the names of this machine are answered', () => {
  for (const host of ['127.0.0.1:10253', 'localhost', 'localhost:80', '[::1]:10253', '127.9.9.9'])
    assert.equal(asked('/api/node', { host }), 200, host);
  for (const host of ['evil.example', 'evil.example:10253', '10.0.0.1:10253', '127.0.0.1.evil.example', ''])
    assert.equal(asked('/api/node', { host }), 403, host);
});

test('with a token, whatever tells of the cluster needs it, by any of three ways', () => {
  const host = 'node1:10253';
  assert.equal(asked('/', { host }, 'GET', 'secret'), 200);
  assert.equal(asked('/api/node', { host }, 'GET', 'secret'), 401);
  assert.equal(asked('/api/node', { host, 'x-portolan-token': 'secret' }, 'GET', 'secret'), 200);
  assert.equal(asked('/api/node', { host, authorization: 'Bearer secret' }, 'GET', 'secret'), 200);
  assert.equal(asked('/api/node?token=secret', { host }, 'GET', 'secret'), 200);
  assert.equal(asked('/api/node?token=secrets', { host }, 'GET', 'secret'), 401);
  assert.equal(asked('/api/node?token=', { host }, 'GET', 'secret'), 401);
});

test('nothing can be changed', () => {
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) assert.equal(asked('/api/node', {}, method), 405);
});

test('a wildcard is not loopback', () => {
  assert.ok(isLoopbackAddress('127.0.0.1:10253'));
  assert.ok(isLoopbackAddress('[::1]:10253'));
  for (const address of ['0.0.0.0:10253', '[::]:10253', '192.168.1.1:10253'])
    assert.ok(!isLoopbackAddress(address), address);
});
