import assert from 'node:assert/strict';
import test from 'node:test';
import type { Flow } from '../kernel/conntrack.ts';
import { staleFlowTest } from './stale.ts';
import type { FlowTarget, FlowTargets } from './targets.ts';

const NODE = new Set(['192.0.2.10', '127.0.0.1']);

function target(ip: string | undefined, port: number, ...serving: string[]): FlowTarget {
  return { ip, port, serving: new Set(serving) };
}

function targets(current: FlowTarget[], rest: Partial<FlowTargets> = {}): FlowTargets {
  return { family: 'IPv4', services: new Map([['a/b', current]]), retired: [], serviceCIDRs: [], ...rest };
}

function flow(to: string, answeredBy: string): Flow {
  const [destination, destinationPort] = to.split(':') as [string, string];
  const [source, sourcePort] = answeredBy.split(':') as [string, string];
  return {
    original: { source: '10.1.0.1', sourcePort: 4000, destination, destinationPort: Number(destinationPort) },
    reply: { source, sourcePort: Number(sourcePort), destination: '10.1.0.1', destinationPort: 4000 },
    id: 1,
    zone: 0,
  };
}

function isStale(all: FlowTargets, to: string, answeredBy: string): boolean {
  return staleFlowTest(all, NODE)(flow(to, answeredBy));
}

const dns = targets([target('10.96.0.10', 53, '10.1.0.7:5353'), target(undefined, 30053, '10.1.0.7:5353')]);

test('a flow to a serving endpoint stays', () => {
  assert.equal(isStale(dns, '10.96.0.10:53', '10.1.0.7:5353'), false);
  assert.equal(isStale(dns, '192.0.2.10:30053', '10.1.0.7:5353'), false);
});

test('a flow to an endpoint that is gone, or to another port of it, is stale', () => {
  assert.equal(isStale(dns, '10.96.0.10:53', '10.1.0.8:5353'), true);
  assert.equal(isStale(dns, '10.96.0.10:53', '10.1.0.7:53'), true);
  assert.equal(isStale(dns, '192.0.2.10:30053', '10.1.0.8:5353'), true);
});

test('a flow that began before there was a rule is stale once an endpoint serves', () => {
  assert.equal(isStale(dns, '10.96.0.10:53', '10.96.0.10:53'), true);
  assert.equal(isStale(dns, '192.0.2.10:30053', '192.0.2.10:30053'), true);
});

test('a port that happens to have the number of a node port is none of ours on other addresses', () => {
  assert.equal(isStale(dns, '198.51.100.1:30053', '198.51.100.1:30053'), false);
  assert.equal(isStale(dns, '198.51.100.1:30053', '10.1.0.8:5353'), false);
});

test('when the last endpoint is gone translated flows are stale, and the node’s own are left alone', () => {
  const none = targets([target('10.96.0.10', 53), target(undefined, 30053)]);
  assert.equal(isStale(none, '10.96.0.10:53', '10.1.0.7:5353'), true);
  assert.equal(isStale(none, '192.0.2.10:30053', '10.1.0.7:5353'), true);
  assert.equal(isStale(none, '192.0.2.10:30053', '192.0.2.10:30053'), false);
});

test('flows of a deleted service are stale if they lead to one of its endpoints', () => {
  const deleted = targets([], { retired: [target('203.0.113.5', 53, '10.1.0.7:5353')] });
  assert.equal(isStale(deleted, '203.0.113.5:53', '10.1.0.7:5353'), true);
  assert.equal(isStale(deleted, '203.0.113.5:53', '10.1.0.99:5353'), false);
  assert.equal(isStale(deleted, '203.0.113.5:53', '203.0.113.5:53'), false);
});

test('an address that another service took over is judged by its new endpoints', () => {
  const moved = targets([target('10.96.0.10', 53, '10.1.0.9:53')], {
    retired: [target('10.96.0.10', 53, '10.1.0.7:5353')],
  });
  assert.equal(isStale(moved, '10.96.0.10:53', '10.1.0.9:53'), false);
  assert.equal(isStale(moved, '10.96.0.10:53', '10.1.0.7:5353'), true);
});

test('translated flows of unknown addresses in the service range are left from a time before this process', () => {
  const restarted = targets([], { serviceCIDRs: ['10.96.0.0/16'] });
  assert.equal(isStale(restarted, '10.96.0.77:53', '10.1.0.7:5353'), true);
  assert.equal(isStale(restarted, '10.96.0.77:53', '10.96.0.77:53'), false);
  assert.equal(isStale(restarted, '8.8.8.8:53', '10.1.0.7:5353'), false);
});

test('where two services claim an address the endpoints of both are right', () => {
  const both = targets([target('10.96.0.10', 53, '10.1.0.7:5353'), target('10.96.0.10', 53, '10.1.0.8:5353')]);
  assert.equal(isStale(both, '10.96.0.10:53', '10.1.0.7:5353'), false);
  assert.equal(isStale(both, '10.96.0.10:53', '10.1.0.8:5353'), false);
});
