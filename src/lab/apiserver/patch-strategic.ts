// Strategic merge patches: like merge patches, but lists whose items have a key are merged item by item, and directives in
// the patch say what is to be replaced, deleted or put in order. `kubectl apply` and `kubectl edit` send these.
import { isObject, type Json, type JsonObject, sameJson } from './object.ts';
import type { FieldType, ObjectType } from './schema/language.ts';
import { typeNamed } from './schema/schema.ts';
import { badRequest } from './status.ts';

const SET_ORDER = '$setElementOrder/';
const DELETE_FROM = '$deleteFromPrimitiveList/';
const RETAIN_KEYS = '$retainKeys';
const DIRECTIVE = '$patch';

export function strategicMerge(typeName: string, object: JsonObject, patch: JsonObject): JsonObject {
  return mergeObject(typeNamed(typeName), object, patch);
}

function mergeObject(type: ObjectType | undefined, object: JsonObject, patch: JsonObject): JsonObject {
  if (patch[DIRECTIVE] === 'replace') return withoutDirectives(patch);
  if (patch[DIRECTIVE] === 'delete') return {};
  const result: JsonObject = { ...object };
  const kept = patch[RETAIN_KEYS];
  if (Array.isArray(kept)) for (const field of Object.keys(result)) if (!kept.includes(field)) delete result[field];

  for (const [field, value] of Object.entries(patch)) {
    if (field.startsWith('$') || value === undefined) continue;
    if (value === null) delete result[field];
    else result[field] = mergeValue(type?.get(field)?.type, result[field], value);
  }
  for (const [directive, value] of Object.entries(patch)) {
    if (directive.startsWith(DELETE_FROM)) dropValues(result, directive.slice(DELETE_FROM.length), value);
    if (directive.startsWith(SET_ORDER)) {
      const field = directive.slice(SET_ORDER.length);
      reorder(result, field, mergeKeyOf(type?.get(field)?.type), value);
    }
  }
  return result;
}

function mergeValue(type: FieldType | undefined, held: Json | undefined, value: Json): Json {
  if (isObject(value)) {
    const fields = type?.kind === 'named' ? typeNamed(type.name) : undefined;
    return mergeObject(fields, isObject(held) ? held : {}, value);
  }
  const key = mergeKeyOf(type);
  if (!Array.isArray(value) || key === undefined) return value;
  const list = Array.isArray(held) ? held : [];
  if (key === '') return [...list, ...value.filter((item) => !list.some((known) => sameJson(known, item)))];
  return mergeItems(type?.kind === 'list' ? type.of : undefined, key, list, value);
}

function mergeItems(
  itemType: FieldType | undefined,
  key: string,
  held: readonly Json[],
  patch: readonly Json[],
): Json[] {
  const items = patch.map((item) => {
    if (!isObject(item)) throw badRequest(`a strategic merge patch of this list needs objects with "${key}"`);
    return item;
  });
  const replacesAll = items.some((item) => item[DIRECTIVE] === 'replace' && item[key] === undefined);
  const result: Json[] = replacesAll ? [] : [...held];
  for (const item of items) {
    if (item[DIRECTIVE] === 'replace' && item[key] === undefined) continue;
    const at = result.findIndex((known) => isObject(known) && sameJson(known[key], item[key]));
    if (item[DIRECTIVE] === 'delete') {
      if (at >= 0) result.splice(at, 1);
    } else if (item[key] === undefined) {
      throw badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`);
    } else if (at >= 0) result[at] = mergeValue(itemType, result[at], item);
    else result.push(withoutDirectives(item));
  }
  return result;
}

function dropValues(result: JsonObject, field: string, values: Json | undefined): void {
  const list = result[field];
  if (!Array.isArray(list) || !Array.isArray(values)) return;
  result[field] = list.filter((item) => !values.some((gone) => sameJson(gone, item)));
}

/** Items the order names come in that order; others keep their place behind the item they followed. */
function reorder(result: JsonObject, field: string, key: string | undefined, order: Json | undefined): void {
  const list = result[field];
  if (!Array.isArray(list) || !Array.isArray(order) || key === undefined) return;
  const identity = (item: Json) => (key !== '' && isObject(item) ? (item[key] ?? null) : item);
  const rank = (item: Json) => order.findIndex((wanted) => sameJson(identity(wanted), identity(item)));
  const ordered = list.filter((item) => rank(item) >= 0).sort((a, b) => rank(a) - rank(b));
  for (const [i, item] of list.entries()) {
    if (rank(item) >= 0) continue;
    const leader = i === 0 ? -1 : ordered.indexOf(list[i - 1]!);
    ordered.splice(leader + 1, 0, item);
  }
  result[field] = ordered;
}

function mergeKeyOf(type: FieldType | undefined): string | undefined {
  return type?.kind === 'list' ? type.mergeKey : undefined;
}

function withoutDirectives(patch: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(patch).filter(([field]) => !field.startsWith('$')));
}
