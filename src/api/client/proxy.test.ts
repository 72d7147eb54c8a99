import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from './error.ts';
import { proxyFor } from './proxy.ts';

const server = (url: string, env: Record<string, string>, proxyUrl = ''): string | undefined =>
  proxyFor(new URL(url), proxyUrl, env)?.href;

test('the kubeconfig has the first word, then the variable for the scheme', () => {
  const env = { HTTPS_PROXY: 'http://secure:3128', http_proxy: 'plain:3128', NO_PROXY: '*' };
  assert.equal(server('https://10.0.0.1', env, 'socks5://s:1080'), 'socks5://s:1080');
  const { NO_PROXY: _, ...open } = env;
  assert.equal(server('https://10.0.0.1', open), 'http://secure:3128/');
  assert.equal(server('http://10.0.0.1', open), 'http://plain:3128/');
  assert.equal(server('https://10.0.0.1', env), undefined);
  assert.equal(server('https://10.0.0.1', {}), undefined);
});

test('NO_PROXY takes names, domains, addresses, networks and ports', () => {
  const through = (url: string, noProxy: string): boolean =>
    server(url, { HTTPS_PROXY: 'http://p', NO_PROXY: noProxy }) !== undefined;
  assert.equal(through('https://10.96.0.1', 'x.test, 10.96.0.0/12'), false);
  assert.equal(through('https://10.112.0.1', '10.96.0.0/12'), true);
  assert.equal(through('https://[fd00::1]:6443', 'fd00::/8'), false);
  assert.equal(through('https://10.0.0.1:6443', '10.0.0.1'), false);
  assert.equal(through('https://10.0.0.1:6443', '10.0.0.1:6443'), false);
  assert.equal(through('https://10.0.0.1:6443', '10.0.0.1:443'), true);
  assert.equal(through('https://api.example.test', 'example.test'), false);
  assert.equal(through('https://example.test', 'example.test'), false);
  assert.equal(through('https://badexample.test', 'example.test'), true);
  assert.equal(through('https://example.test', '.example.test'), true);
  assert.equal(through('https://api.example.test', '*.example.test'), false);
});

test('this machine is never reached through a proxy from the environment', () => {
  for (const url of ['https://localhost:6443', 'https://127.0.0.1:6443', 'https://[::1]:6443']) {
    assert.equal(server(url, { HTTPS_PROXY: 'http://p' }), undefined);
  }
});

test('a proxy of an unknown kind is an error that does not show the password', () => {
  const attempt = (): unknown => server('https://10.0.0.1', {}, 'ftp://ann:secret@p');
  assert.throws(attempt, (error) => error instanceof ApiError && !error.message.includes('secret'));
});
