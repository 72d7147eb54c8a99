import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from './object.ts';
import { resourceNamed } from './resources.ts';
import { matchesEqualitySelector, matchesLabelSelector, objectPredicate } from './selectors.ts';

const CASES: readonly (readonly [string, Record<string, string>, boolean])[] = [
  ['app=cart', { app: 'cart' }, true],
  ['app==cart,tier!=back', { app: 'cart' }, true],
  ['app!=cart', { app: 'cart' }, false],
  ['app', { app: '' }, true],
  ['!app', { app: '' }, false],
  ['!app', {}, true],
  ['tier in (front, back)', { tier: 'back' }, true],
  ['tier in (front)', {}, false],
  ['tier notin (front)', {}, true],
  ['tier notin (front,back),app', { tier: 'back', app: 'x' }, false],
  ['empty=', { empty: '' }, true],
];

for (const [label, labels, matches] of CASES) {
  test(`the label selector "${label}" ${matches ? 'matches' : 'does not match'} ${JSON.stringify(labels)}`, () => {
    const predicate = objectPredicate(resourceNamed('services'), { label, field: '' })!;
    assert.equal(predicate(objectWith({ labels })), matches);
  });
}

test('a selector that cannot be read is refused', () => {
  assert.throws(
    () => objectPredicate(resourceNamed('services'), { label: 'a b', field: '' }),
    /unable to parse requirement/,
  );
});

test('field selectors compare text, and an absent field is empty or zero', () => {
  const select = (plural: string, field: string) => objectPredicate(resourceNamed(plural), { label: '', field })!;
  const service = { ...objectWith({}), spec: { clusterIP: 'None' } };
  assert.equal(select('services', 'spec.clusterIP!=None')(service), false);
  assert.equal(select('services', 'metadata.name=x,spec.clusterIP=None')(service), true);
  assert.equal(select('nodes', 'spec.unschedulable=false')(objectWith({})), true);
  assert.equal(select('pods', 'spec.nodeName=')(objectWith({})), true);
});

test('no selector asks nothing', () => {
  assert.equal(objectPredicate(resourceNamed('services'), { label: '', field: ' ' }), undefined);
});

test('an empty selector of a Service selects nothing, an empty label selector everything', () => {
  assert.equal(matchesEqualitySelector({}, { a: 'b' }), false);
  assert.equal(matchesLabelSelector({}, { a: 'b' }), true);
  const matchExpressions = [
    { key: 'a', operator: 'In', values: ['b'] },
    { key: 'c', operator: 'DoesNotExist' },
  ];
  assert.equal(matchesLabelSelector({ matchExpressions }, { a: 'b' }), true);
});

function objectWith(metadata: Partial<KubeObject['metadata']>): KubeObject {
  return { apiVersion: 'v1', kind: 'X', metadata: { name: 'x', ...metadata } };
}
