import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RESOURCES } from '../resources.ts';
import { checkObject } from './check.ts';
import type { FieldType } from './language.ts';
import { typeNamed, typeNames, typeOfKind } from './schema.ts';
import { WIRE_FIELDS, wireFields } from './wire.ts';

test('every type that a field names exists, and every kind has one', () => {
  const named = (type: FieldType): string[] => {
    if (type.kind === 'named') return [type.name];
    return type.kind === 'plain' ? [] : named(type.of);
  };
  for (const name of typeNames()) {
    for (const [, field] of typeNamed(name)) for (const other of named(field.type)) assert.ok(typeNamed(other));
  }
  for (const resource of RESOURCES) assert.ok(typeNamed(typeOfKind(resource)));
});

test('every field with a protobuf number is a field of its type', () => {
  for (const type of Object.keys(WIRE_FIELDS)) {
    for (const field of wireFields(type)!.values()) {
      assert.ok(typeNamed(type).has(field), `${type} has no ${field}`);
    }
  }
});

test('fields no type knows are dropped and told by their path', () => {
  const value = { spec: { ports: [{ port: 80, prot: 'TCP' }], selektor: null, selector: { a: 'b' } } };
  const { value: known, unknown } = checkObject('Service', value, 'Service', 'v1');
  assert.deepEqual(unknown, ['spec.ports[0].prot', 'spec.selektor']);
  assert.deepEqual(known, { spec: { ports: [{ port: 80 }], selector: { a: 'b' } } });
});

test('a value of the wrong type is refused as Go would', () => {
  assert.throws(
    () => checkObject('Service', { spec: { ports: [{ port: '80' }] } }, 'Service', 'v1'),
    /^ApiError: Service in version "v1" cannot be handled as a Service: json: cannot unmarshal string into Go struct field ServicePort\.spec\.ports\.port of type int32$/,
  );
});
