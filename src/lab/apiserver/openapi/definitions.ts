// In: the schema tables. Out: JSON schema definitions, as both OpenAPI documents hold them.
import type { JsonObject } from '../object.ts';
import { RESOURCES, type Resource } from '../resources.ts';
import type { FieldType, Plain } from '../schema/language.ts';
import { definitionName, typeNamed, typeNames, typeOfKind } from '../schema/schema.ts';

/** `prefix` is where a document keeps its definitions: `#/definitions/` or `#/components/schemas/`. */
export function definitions(prefix: string): JsonObject {
  const all: JsonObject = {};
  for (const name of typeNames()) all[definitionName(name)] = definition(name, prefix);
  return all;
}

function definition(name: string, prefix: string): JsonObject {
  const fields = [...typeNamed(name)];
  const required = fields.filter(([, field]) => field.isRequired).map(([field]) => field);
  const kinds = RESOURCES.filter((resource) => typeOfKind(resource) === name).map(groupVersionKind);
  if (name === 'Scale') kinds.push({ group: 'autoscaling', version: 'v1', kind: 'Scale' });
  return {
    type: 'object',
    ...(required.length > 0 && { required }),
    properties: Object.fromEntries(fields.map(([field, { type, about }]) => [field, property(type, about, prefix)])),
    ...(kinds.length > 0 && { 'x-kubernetes-group-version-kind': kinds }),
  };
}

export function groupVersionKind({ group, version, kind }: Resource): JsonObject {
  return { group, version, kind };
}

function property(type: FieldType, about: string, prefix: string): JsonObject {
  const description = about === '' ? {} : { description: about };
  switch (type.kind) {
    case 'plain':
      return { ...description, ...PLAIN_SCHEMAS[type.plain] };
    case 'named': {
      const $ref = prefix + definitionName(type.name);
      // A reference may have no neighbours in OpenAPI 3, so its description wraps it.
      return about === '' || prefix === '#/definitions/'
        ? { ...description, $ref }
        : { ...description, allOf: [{ $ref }] };
    }
    case 'map':
      return { ...description, type: 'object', additionalProperties: property(type.of, '', prefix) };
    case 'list':
      return { ...description, type: 'array', items: property(type.of, '', prefix), ...patchRules(type.mergeKey) };
  }
}

function patchRules(mergeKey: string | undefined): JsonObject {
  if (mergeKey === undefined) return {};
  const rules: JsonObject = { 'x-kubernetes-patch-strategy': 'merge' };
  if (mergeKey !== '') rules['x-kubernetes-patch-merge-key'] = mergeKey;
  return rules;
}

const PLAIN_SCHEMAS: Readonly<Record<Plain, JsonObject>> = {
  string: { type: 'string' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  bool: { type: 'boolean' },
  time: { type: 'string', format: 'date-time' },
  quantity: { type: 'string' },
  intOrString: { type: 'string', format: 'int-or-string' },
  any: {},
};
