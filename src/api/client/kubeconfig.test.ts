import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import type { ApiConfig } from './config.ts';
import { parseKubeconfig } from './kubeconfig.ts';

function load(text: string, master = ''): ApiConfig {
  return parseKubeconfig({ folder: '/etc/proxy', document: parse(text) }, master);
}

const withUser = (user: string, cluster = 'server: https://10.0.0.1:6443'): string => `
apiVersion: v1
kind: Config
current-context: main
contexts: [{name: main, context: {cluster: k, user: u}}, {name: other, context: {cluster: none, user: none}}]
clusters: [{name: k, cluster: {${cluster}}}]
users: [{name: u, user: {${user}}}]
`;

test('the file kubeadm writes for kube-proxy loads', () => {
  const config = load(`
apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt
    server: https://192.0.2.1:6443
  name: default
contexts:
- context: {cluster: default, namespace: default, user: default}
  name: default
current-context: default
users:
- name: default
  user:
    tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
`);
  assert.equal(config.server, 'https://192.0.2.1:6443');
  assert.deepEqual(config.tls.ca, { kind: 'file', path: '/var/run/secrets/kubernetes.io/serviceaccount/ca.crt' });
  assert.deepEqual(config.user.token, {
    kind: 'file',
    path: '/var/run/secrets/kubernetes.io/serviceaccount/token',
  });
});

test('relative paths start at the kubeconfig, and data wins over files', () => {
  const data = Buffer.from('PEM').toString('base64');
  const config = load(
    withUser(
      `client-certificate: pki/c.crt, client-key: pki/c.key, client-key-data: ${data}`,
      'server: https://a.test, certificate-authority: ../ca.crt, tls-server-name: b.test, proxy-url: http://p',
    ),
  );
  assert.deepEqual(config.user.certificate, { kind: 'file', path: '/etc/proxy/pki/c.crt' });
  assert.deepEqual(config.user.key, { kind: 'text', text: 'PEM' });
  assert.deepEqual(config.tls, {
    ca: { kind: 'file', path: '/etc/ca.crt' },
    serverName: 'b.test',
    insecureSkipVerify: false,
  });
  assert.equal(config.proxyUrl, 'http://p');
});

test('--master replaces the server and needs no file', () => {
  assert.equal(load(withUser('token: x'), 'https://b.test/').server, 'https://b.test');
  assert.deepEqual(load('{}', '10.0.0.1:8080').server, 'http://10.0.0.1:8080');
});

test('a token file wins over a token', () => {
  assert.deepEqual(load(withUser('token: x, tokenFile: t')).user.token, { kind: 'file', path: '/etc/proxy/t' });
});

test('impersonation becomes headers', () => {
  const { impersonation } = load(
    withUser('token: x, as: bob, as-uid: "7", as-groups: [a, b], as-user-extra: {Scopes/x: [view]}'),
  ).user;
  assert.deepEqual(impersonation, {
    'Impersonate-User': 'bob',
    'Impersonate-Uid': '7',
    'Impersonate-Group': ['a', 'b'],
    'Impersonate-Extra-scopes%2Fx': ['view'],
  });
});

test('an exec plugin may ask to be told of the cluster', () => {
  const { exec } = load(
    withUser(
      'exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: bin/login, args: [a], provideClusterInfo: true}',
      'server: https://a.test, extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: x}}]',
    ),
  ).user;
  assert.equal(exec?.command, '/etc/proxy/bin/login');
  assert.deepEqual(exec?.cluster, { server: 'https://a.test', config: { audience: 'x' } });
});

for (const [title, text, message] of [
  ['no context', '{}', /no configuration has been provided/],
  ['a missing context', 'current-context: x', /context "x" does not exist/],
  [
    'a missing cluster',
    withUser('token: x').replace('name: k, cluster', 'name: l, cluster'),
    /cluster "k" does not exist/,
  ],
  ['a missing user', withUser('token: x').replace('name: u, user', 'name: v, user'), /user "u" does not exist/],
  ['a cluster without a server', withUser('token: x', 'proxy-url: http://p'), /no server found for cluster "k"/],
  ['a server that is no URL', withUser('token: x', 'server: "ftp://x"'), /not a server URL: "ftp:\/\/x"/],
  ['a certificate without a key', withUser('client-certificate: c'), /has a client certificate but no key/],
  ['a token and a password', withUser('token: x, username: y'), /both a token and a username/],
  ['an old auth provider', withUser('auth-provider: {name: gcp}'), /no Auth Provider found for name "gcp"/],
  ['an exec plugin of an old version', withUser('exec: {apiVersion: v0, command: x}'), /apiVersion must be/],
  [
    'an exec plugin that needs a person',
    withUser('exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Always}'),
    /needs a terminal/,
  ],
] as const) {
  test(`${title} is an error that names it`, () => {
    assert.throws(() => load(text), { name: 'ApiError', code: 'API_CONFIG', message });
  });
}
