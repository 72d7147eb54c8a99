import assert from 'node:assert/strict';
import test from 'node:test';
import type { Frontend, NodeModel, ServiceModel, ServicePort } from '../model/model.ts';
import { connectionTargets, flowTargets, withoutRetired } from './targets.ts';

const cluster: Frontend = { kind: 'cluster-ip', ip: '10.96.0.10', port: 53 };
const external: Frontend = { kind: 'external-ip', ip: '203.0.113.5', port: 53 };

function service(frontends: Frontend[], serving: string[], protocol: 'UDP' | 'TCP' = 'UDP'): ServiceModel {
  return { ports: [{ protocol, frontends, serving } as unknown as ServicePort] } as unknown as ServiceModel;
}

function model(services: Record<string, ServiceModel>, changed: string[] | undefined): NodeModel {
  const parts = { family: 'IPv4', serviceCIDRs: ['10.96.0.0/16'], isFresh: changed === undefined };
  return { ...parts, services: new Map(Object.entries(services)), changed: new Set(changed) } as unknown as NodeModel;
}

test('every address of a UDP port leads to the endpoints that serve it; TCP is left out', () => {
  const targets = flowTargets(
    model(
      { 'a/dns': service([cluster, external], ['10.1.0.7:53']), 'a/web': service([cluster], [], 'TCP') },
      undefined,
    ),
  );
  assert.deepEqual([...targets.services.keys()], ['a/dns']);
  const serving = new Set(['10.1.0.7:53']);
  assert.deepEqual(targets.services.get('a/dns'), [
    { ip: '10.96.0.10', port: 53, serving },
    { ip: '203.0.113.5', port: 53, serving },
  ]);
  assert.deepEqual(targets.retired, []);
});

test('an address that goes is remembered with its endpoints until a clean-up', () => {
  const first = flowTargets(model({ 'a/dns': service([cluster, external], ['10.1.0.7:53']) }, undefined));
  const second = flowTargets(model({ 'a/dns': service([cluster], ['10.1.0.8:53']) }, ['a/dns']), first);
  const third = flowTargets(model({}, ['a/dns']), second);
  assert.deepEqual(third.retired, [
    { ip: '203.0.113.5', port: 53, serving: new Set(['10.1.0.7:53']) },
    { ip: '10.96.0.10', port: 53, serving: new Set(['10.1.0.8:53']) },
  ]);
  assert.deepEqual(withoutRetired(third).retired, []);
});

test('a model from nothing retires what it no longer has, and unchanged services keep their part', () => {
  const first = flowTargets(
    model({ 'a/dns': service([cluster], ['10.1.0.7:53']), 'a/x': service([external], []) }, undefined),
  );
  const same = flowTargets(model({ 'a/x': service([external], []) }, []), first);
  assert.equal(same.services.get('a/dns'), first.services.get('a/dns'));
  const fresh = flowTargets(model({ 'a/x': service([external], []) }, undefined), first);
  assert.deepEqual(
    fresh.retired.map(({ ip }) => ip),
    ['10.96.0.10'],
  );
});

test('TCP connections may lead to every endpoint that the rules choose from', () => {
  const backends = { cluster: [{ address: '10.1.0.7:80' }], local: [{ address: '10.1.0.8:80' }] };
  const web = { ports: [{ protocol: 'TCP', frontends: [external], backends }] } as unknown as ServiceModel;
  const targets = connectionTargets(model({ 'a/web': web, 'a/dns': service([cluster], []) }, undefined));
  assert.deepEqual(targets.services.get('a/web'), [
    { ip: '203.0.113.5', port: 53, serving: new Set(['10.1.0.7:80', '10.1.0.8:80']) },
  ]);
  assert.deepEqual(targets.services.get('a/dns'), []);
});
