import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Deployment, ReplicaSet } from '../types.ts';
import { rolloutSizes } from './rollout.ts';

test('a new deployment starts with all its pods', () => {
  assert.deepEqual(sizes(deployment(3), set('new', 0, 0), []), { new: 3 });
});

test('a rolling update goes up by the surge and down only as far as enough stay available', () => {
  const spec = deployment(4); // 25 %: one more, one fewer
  assert.deepEqual(sizes(spec, set('new', 0, 0), [set('old', 4, 4)]), { new: 1, old: 3 });
  assert.deepEqual(sizes(spec, set('new', 1, 0), [set('old', 3, 3)]), { new: 2, old: 3 });
  assert.deepEqual(sizes(spec, set('new', 2, 2), [set('old', 3, 3)]), { new: 2, old: 1 });
  assert.deepEqual(sizes(spec, set('new', 4, 4), [set('old', 0, 0)]), { new: 4, old: 0 });
});

test('recreating waits until the old pods are gone', () => {
  const spec = deployment(2, { type: 'Recreate' });
  assert.deepEqual(sizes(spec, set('new', 0, 0), [set('old', 2, 2)]), { new: 0, old: 0 });
  assert.deepEqual(sizes(spec, set('new', 0, 0), [set('old', 0, 0)]), { new: 2, old: 0 });
});

test('a paused rollout stays where it is', () => {
  const paused = deployment(4);
  paused.spec.paused = true;
  assert.deepEqual(sizes(paused, set('new', 2, 2), [set('old', 2, 2)]), {});
  assert.deepEqual(sizes(paused, undefined, [set('old', 4, 4)]), { old: 4 });
});

function sizes(spec: Deployment, current: ReplicaSet | undefined, old: readonly ReplicaSet[]): Record<string, number> {
  const all = current ? [...old, current] : old;
  const entries = rolloutSizes(spec, current, all).map(({ replicaSet, replicas }) => [
    replicaSet.metadata.name,
    replicas,
  ]);
  return Object.fromEntries(entries) as Record<string, number>;
}

function deployment(replicas: number, strategy: NonNullable<Deployment['spec']['strategy']> = {}): Deployment {
  const template = { spec: { containers: [] } };
  const spec = { replicas, selector: {}, template, strategy };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd' }, spec };
}

function set(name: string, replicas: number, available: number): ReplicaSet {
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name, resourceVersion: '1' },
    spec: { replicas, selector: {}, template: { spec: { containers: [] } } },
    status: { replicas: available, availableReplicas: available },
  };
}
