import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, JsonObject } from './object.ts';
import { applyPatch, requirePatchType } from './patch.ts';

test('a JSON patch adds, replaces, moves, copies and removes in order', () => {
  const patch = [
    { op: 'add', path: '/list/1', value: 'x' },
    { op: 'add', path: '/list/-', value: 'z' },
    { op: 'replace', path: '/a~1b', value: 2 },
    { op: 'copy', from: '/a~1b', path: '/copied' },
    { op: 'move', from: '/gone', path: '/moved' },
    { op: 'test', path: '/copied', value: 2 },
    { op: 'remove', path: '/list/0' },
  ];
  const patched = patchedBy('json-patch', { list: ['first', 'second'], 'a/b': 1, gone: true }, patch);
  assert.deepEqual(patched, { list: ['x', 'second', 'z'], 'a/b': 2, copied: 2, moved: true });
});

test('a JSON patch fails as a whole when a test in it fails', () => {
  const object = { a: 1 };
  const patch = [
    { op: 'replace', path: '/a', value: 2 },
    { op: 'test', path: '/a', value: 3 },
  ];
  assert.throws(() => patchedBy('json-patch', object, patch), /testing value \/a failed/);
  assert.deepEqual(object, { a: 1 });
});

test('a merge patch merges objects, replaces lists and removes with null', () => {
  const patched = patchedBy('merge-patch', { a: { b: 1, c: 2 }, list: [1, 2] }, { a: { b: null, d: 3 }, list: [9] });
  assert.deepEqual(patched, { a: { c: 2, d: 3 }, list: [9] });
});

test('a strategic merge patch merges list items by their key', () => {
  const service = {
    spec: {
      ports: [
        { port: 80, name: 'http' },
        { port: 443, name: 'https' },
      ],
    },
  };
  const patch = {
    spec: {
      ports: [
        { port: 443, nodePort: 30443 },
        { port: 53, name: 'dns' },
      ],
    },
  };
  assert.deepEqual(patchedBy('strategic-merge-patch', service, patch), {
    spec: {
      ports: [
        { port: 80, name: 'http' },
        { port: 443, name: 'https', nodePort: 30443 },
        { port: 53, name: 'dns' },
      ],
    },
  });
});

test('directives delete items, replace lists and objects, and set the order', () => {
  const service = { spec: { ports: [{ port: 1 }, { port: 2 }, { port: 3 }], selector: { a: 'b', c: 'd' } } };
  const removed = {
    spec: { ports: [{ $patch: 'delete', port: 2 }], '$setElementOrder/ports': [{ port: 3 }, { port: 1 }] },
  };
  assert.deepEqual(spec(service, removed).ports, [{ port: 3 }, { port: 1 }]);
  assert.deepEqual(spec(service, { spec: { ports: [{ $patch: 'replace' }, { port: 9 }] } }).ports, [{ port: 9 }]);
  assert.deepEqual(spec(service, { spec: { selector: { $patch: 'replace', x: 'y' } } }).selector, { x: 'y' });
  assert.deepEqual(spec(service, { spec: { $retainKeys: ['ports'] } }), { ports: service.spec.ports });
});

test('sets of plain values are merged, and values removed from them', () => {
  const object = { metadata: { finalizers: ['a', 'b'] } };
  const patch = { metadata: { finalizers: ['c'], '$deleteFromPrimitiveList/finalizers': ['a'] } };
  assert.deepEqual(patchedBy('strategic-merge-patch', object, patch), { metadata: { finalizers: ['b', 'c'] } });
});

test('server-side apply is refused by name', () => {
  const type = (contentType: string) => () => requirePatchType({ contentType, bytes: Buffer.alloc(0) });
  assert.throws(type('application/apply-patch+yaml'), /has no server-side apply/);
  assert.throws(type('application/json'), /accepted media types include: application\/json-patch\+json/);
});

function spec(object: JsonObject, patch: JsonObject): JsonObject {
  return (patchedBy('strategic-merge-patch', object, patch) as { spec: JsonObject }).spec;
}

function patchedBy(kind: string, object: JsonObject, patch: Json): Json {
  return applyPatch('Service', object, {
    contentType: `application/${kind}+json`,
    bytes: Buffer.from(JSON.stringify(patch)),
  });
}
