import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestCluster } from '../../../test/support/cluster.ts';
import type { Manifest } from '../../../test/support/golden.ts';
import { endpointManifest, serviceManifest, sliceManifest } from '../../../test/support/manifests.ts';
import { resolveNode } from '../../model/resolve.ts';
import { type Check, checkup, type Patient } from './checkup.ts';

const IDENTITY = {
  nodeName: 'worker-7',
  nodeIPs: { IPv4: '172.20.5.7', IPv6: 'fd20::7' },
  allowsExternalIPs: true,
};

/** The first bad answer about shop/cart in this cluster. */
function firstBad(manifests: readonly Manifest[], patient: Partial<Patient> = {}): Check | undefined {
  const { tracker } = new TestCluster().apply(...manifests);
  const snapshot = tracker.take('IPv4');
  const slices = [...(snapshot.slices.get('shop/cart')?.values() ?? [])];
  const checks = checkup({
    service: snapshot.services.get('shop/cart')!,
    model: resolveNode(snapshot, IDENTITY).services.get('shop/cart'),
    slices,
    nodesInSlices: new Set(slices.flatMap(({ endpoints }) => endpoints.flatMap(({ nodeName }) => nodeName ?? []))),
    nodeName: IDENTITY.nodeName,
    family: 'IPv4',
    mismatches: [],
    rules: 'in the kernel',
    isForwarding: true,
    ...patient,
  });
  return checks.find(({ result }) => result === 'bad');
}

const SERVICE = serviceManifest('shop/cart');
const READY = sliceManifest('shop/cart', [endpointManifest(1, 'RL')]);

test('a Service that works has no bad answer', () => assert.equal(firstBad([SERVICE, READY]), undefined));

test('a Service without EndpointSlices is a matter of its selector', () =>
  assert.match(firstBad([SERVICE])?.advice ?? '', /selector/));

test('a port that endpoints offer under another name is found', () => {
  const slice = sliceManifest('shop/cart', [endpointManifest(1, 'RL')], { ports: [{ name: 'web', port: 8080 }] });
  assert.match(firstBad([SERVICE, slice])?.answer ?? '', /they offer web\/TCP/);
});

test('endpoints that are not ready are counted', () => {
  const slice = sliceManifest('shop/cart', [endpointManifest(1, 'NL'), endpointManifest(2, 'N')]);
  assert.match(firstBad([SERVICE, slice])?.answer ?? '', /none; left out: 2 not ready/);
});

test('a local policy without a local endpoint is named', () => {
  const service = serviceManifest('shop/cart', { internalTrafficPolicy: 'Local' });
  const slice = sliceManifest('shop/cart', [endpointManifest(1, 'R')]);
  assert.match(firstBad([service, slice])?.question ?? '', /internalTrafficPolicy: Local/);
});

test('a kernel that does not forward is named', () =>
  assert.match(firstBad([SERVICE, READY], { isForwarding: false })?.advice ?? '', /ip_forward/));

test('rules that do something else are the last to be named', () => {
  const mismatch = {
    service: 'shop/cart:http',
    frontend: 'cluster-ip 10.99.0.21:80/tcp',
    client: 'this node, 172.20.5.7',
    expected: ['1 rejected'],
    planned: ['1 rejected'],
    actual: ['1 dropped'],
    cause: { kind: 'foreign-rule', table: 'filter', chain: 'FORWARD', rule: '-A FORWARD -j DROP' },
  } as const;
  assert.match(firstBad([SERVICE, READY], { mismatches: [mismatch] })?.advice ?? '', /not the proxy’s.*-j DROP/);
});
