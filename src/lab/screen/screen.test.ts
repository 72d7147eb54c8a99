import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LabStatus } from '../status.ts';
import { barChart } from './bars.ts';
import { labMap, thingsToTry } from './map.ts';

test('bars are as long as their share, with the counts beside them', () => {
  const [a, b] = barChart(new Map([['b', 25], ['a', 75]])).split('\n'); // biome-ignore format: one row per bar
  assert.match(a!, /^a {2}█{40} {2}75 \(75%\)$/);
  assert.match(b!, /^b {2}█{13}▍ +25 \(25%\)$/);
});

const STATUS: LabStatus = {
  consoleUrl: 'http://127.0.0.1:8080/',
  url: 'http://127.0.0.1:6443',
  kubeconfig: '/tmp/kubeconfig',
  nodeCIDRs: ['192.168.50.0/24'],
  podCIDRs: ['10.244.0.0/16'],
  client: { name: 'client', ips: ['192.168.50.100'] },
  nodes: [
    {
      name: 'node1',
      ips: ['192.168.50.11'],
      podCIDRs: ['10.244.1.0/24'],
      mode: 'nftables',
      isHealthy: false,
      pods: [{ namespace: 'shop', name: 'cart-84fd6cfc55-dbz9s', ips: ['10.244.1.4'], phase: 'Pending' }],
    },
  ],
  services: [
    { namespace: 'shop', name: 'cart', type: 'NodePort', ips: ['10.96.0.9'], ports: ['80:30080/TCP'], ingress: [] },
  ],
};

test('the map shows nodes with their agents and pods, and Services', () => {
  const map = labMap(STATUS);
  for (const text of [
    '┌─ node1 ─',
    'kube-proxy: nftables, not in sync',
    'cart-…dbz9s  10.244.1.4 Pending',
    'shop/cart',
  ])
    assert.ok(map.includes(text), map);
  const widths = new Set(map.split('\n').flatMap((line) => (/[┌│└]/.test(line) ? [line.length] : [])));
  assert.equal(widths.size, 1);
});

test('what to try fits the mode', () => {
  assert.match(thingsToTry(STATUS), /lab exec node1 -- nft list table ip kube-proxy/);
  const [node1] = STATUS.nodes;
  const nodes = [
    { ...node1!, name: 'control' },
    { ...node1!, mode: 'ipvs' },
  ];
  assert.match(thingsToTry({ ...STATUS, nodes }), /lab exec node1 -- ipvsadm --list --numeric/);
  assert.match(thingsToTry({ ...STATUS, nodes: nodes.slice(0, 1) }), /http:\/\/control:30180/);
});
