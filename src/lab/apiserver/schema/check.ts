// In: JSON from a client and the type it should have. Out: the same without fields no type knows, and what was odd about it.
import { isObject, type Json, type JsonObject } from '../object.ts';
import { badRequest } from '../status.ts';
import type { FieldType, Plain } from './language.ts';
import { typeNamed } from './schema.ts';

export interface Checked {
  readonly value: JsonObject;
  /** Paths of fields that were dropped. */
  readonly unknown: readonly string[];
}

/** Throws, as a cluster does, when a value is of the wrong type. `kind` and `apiVersion` are for the message. */
export function checkObject(typeName: string, value: JsonObject, kind: string, apiVersion: string): Checked {
  const unknown: string[] = [];
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
  const refuse = (path: string, owner: string, found: string, wanted: string): never => {
    const what = `json: cannot unmarshal ${found} into Go struct field ${owner}.${path} of type ${wanted}`;
    throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${what}`);
  };

  const known = (name: string, object: JsonObject, path: string): JsonObject => {
    const type = typeNamed(name);
    const result: JsonObject = {};
    for (const [field, item] of Object.entries(object)) {
      const at = path ? `${path}.${field}` : field;
      const definition = type.get(field);
      // `null` is how clients write a field that is absent.
      if (!definition) unknown.push(at);
      else if (item !== null && item !== undefined) result[field] = shaped(definition.type, item, at, name);
    }
    return result;
  };

  const shaped = (type: FieldType, item: Json, at: string, owner: string): Json => {
    switch (type.kind) {
      case 'plain':
        return isOfType(type.plain, item) ? item : refuse(withoutIndexes(at), owner, nameOf(item), goName(type.plain));
      case 'named':
        return isObject(item)
          ? known(type.name, item, at)
          : refuse(withoutIndexes(at), owner, nameOf(item), `v1.${type.name}`);
      case 'list':
        if (!Array.isArray(item)) return refuse(withoutIndexes(at), owner, nameOf(item), `[]${elementName(type.of)}`);
        return item.map((element, i) => (element === null ? element : shaped(type.of, element, `${at}[${i}]`, owner)));
      case 'map': {
        if (!isObject(item))
          return refuse(withoutIndexes(at), owner, nameOf(item), `map[string]${elementName(type.of)}`);
        const entries = Object.entries(item).filter(([, element]) => element !== undefined && element !== null);
        return Object.fromEntries(entries.map(([key, element]) => [key, shaped(type.of, element!, at, owner)]));
      }
    }
  };

  return { value: known(typeName, value, ''), unknown };
}

function isOfType(plain: Plain, value: Json): boolean {
  switch (plain) {
    case 'any':
      return true;
    case 'bool':
      return typeof value === 'boolean';
    case 'int32':
    case 'int64':
      return Number.isInteger(value);
    case 'intOrString':
    case 'quantity':
      return typeof value === 'string' || typeof value === 'number';
    default:
      return typeof value === 'string';
  }
}

function nameOf(value: Json): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number' && !Number.isInteger(value)) return `number ${value}`;
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

function goName(plain: Plain): string {
  return (
    { intOrString: 'intstr.IntOrString', quantity: 'resource.Quantity', time: 'v1.Time', any: 'any' }[
      plain as string
    ] ?? plain
  );
}

function elementName(type: FieldType): string {
  if (type.kind === 'named') return `v1.${type.name}`;
  return type.kind === 'plain' ? goName(type.plain) : 'any';
}

function withoutIndexes(path: string): string {
  return path.replace(/\[\d+\]/g, '');
}
