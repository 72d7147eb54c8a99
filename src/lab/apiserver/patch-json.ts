// RFC 6902: a list of operations on paths, applied in order, all or nothing.
import { copy, isObject, type Json, type JsonObject, sameJson } from './object.ts';
import { ApiError, badRequest } from './status.ts';

export function applyJsonPatch(document: Json, patch: Json): Json {
  if (!Array.isArray(patch)) throw badRequest('a JSON patch must be a list of operations');
  return patch.reduce<Json>((sofar, operation) => {
    if (!isObject(operation)) throw badRequest('an operation of a JSON patch must be an object');
    return applyOperation(sofar, operation);
  }, document);
}

function applyOperation(document: Json, operation: JsonObject): Json {
  const path = pointer(operation.path);
  const value = operation.value ?? null;
  switch (operation.op) {
    case 'add':
      return insert(document, path, value);
    case 'remove':
      return cut(document, path).document;
    case 'replace':
      return path.length === 0 ? value : insert(cut(document, path).document, path, value);
    case 'move': {
      const { document: rest, value: moved } = cut(document, pointer(operation.from));
      return insert(rest, path, moved);
    }
    case 'copy':
      return insert(document, path, copy(read(document, pointer(operation.from))));
    case 'test':
      if (sameJson(read(document, path), value)) return document;
      throw failed(`testing value ${operation.path} failed`);
    default:
      throw badRequest(`a JSON patch has no operation "${operation.op}"`);
  }
}

function pointer(text: Json | undefined): string[] {
  if (typeof text !== 'string' || (text !== '' && !text.startsWith('/')))
    throw badRequest(`not a JSON pointer: ${text}`);
  return text
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function read(document: Json, path: readonly string[]): Json {
  return path.reduce<Json>((at, key) => {
    const next = Array.isArray(at) ? at[Number(key)] : isObject(at) ? at[key] : undefined;
    if (next === undefined) throw missing(path);
    return next;
  }, document);
}

function insert(document: Json, path: readonly string[], value: Json): Json {
  const key = path[path.length - 1];
  if (key === undefined) return value;
  const parent = read(document, path.slice(0, -1));
  if (Array.isArray(parent)) {
    const index = key === '-' ? parent.length : Number(key);
    if (!Number.isInteger(index) || index < 0 || index > parent.length) throw missing(path);
    parent.splice(index, 0, value);
  } else if (isObject(parent)) parent[key] = value;
  else throw missing(path);
  return document;
}

function cut(document: Json, path: readonly string[]): { document: Json; value: Json } {
  const value = read(document, path);
  const key = path[path.length - 1];
  const parent = read(document, path.slice(0, -1));
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else if (isObject(parent) && key !== undefined) delete parent[key];
  return { document, value };
}

function missing(path: readonly string[]): ApiError {
  return failed(`doc is missing path: "/${path.join('/')}": missing value`);
}

function failed(why: string): ApiError {
  return new ApiError(422, 'Invalid', `the server rejected our request due to an error in our request: ${why}`);
}
