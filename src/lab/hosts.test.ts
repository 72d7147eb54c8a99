import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from './apiserver/types.ts';
import { findPlace, type RunningPod } from './hosts.ts';

const pod = (namespace: string, name: string): RunningPod => ({
  host: `${namespace}.${name}`,
  pod: { apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name }, spec: { containers: [] } } satisfies Pod,
});
const PODS = [pod('a', 'web-1'), pod('a', 'web-server-1'), pod('b', 'web-1'), pod('b', 'web')];

test('a node is found by its name, before any pod', () => {
  assert.deepEqual(findPlace('web', ['web'], PODS), { host: 'web', namespace: 'default' });
});

test('a pod is found by its whole name first, then by the beginning of it', () => {
  assert.deepEqual(findPlace('web', [], PODS), { host: 'b.web', namespace: 'b' });
  assert.deepEqual(findPlace('a/web', [], PODS), { host: 'a.web-1', namespace: 'a' });
  assert.deepEqual(findPlace('web-server', [], PODS), { host: 'a.web-server-1', namespace: 'a' });
});

test('what is not there is answered with what is', () => {
  assert.deepEqual(findPlace('we', ['node1'], [PODS[0]!]), {
    problem: 'no node or running pod is called we; there are node1, web-1',
  });
});
