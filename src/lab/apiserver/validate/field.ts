// Errors of single fields, in the words Kubernetes has for them, because tools and people match on these.
import type { Json } from '../object.ts';
import type { FieldError } from '../status.ts';

export function invalidValue(field: string, value: Json, why: string): FieldError {
  return { field, reason: 'FieldValueInvalid', message: `Invalid value: ${JSON.stringify(value)}: ${why}` };
}

export function required(field: string, why = ''): FieldError {
  return { field, reason: 'FieldValueRequired', message: why === '' ? 'Required value' : `Required value: ${why}` };
}

export function forbiddenField(field: string, why: string): FieldError {
  return { field, reason: 'FieldValueForbidden', message: `Forbidden: ${why}` };
}

export function duplicate(field: string, value: Json): FieldError {
  return { field, reason: 'FieldValueDuplicate', message: `Duplicate value: ${JSON.stringify(value)}` };
}

export function tooMany(field: string, count: number, most: number): FieldError {
  return { field, reason: 'FieldValueTooMany', message: `Too many: ${count}: must have at most ${most} items` };
}

/** Nothing if the value is one of those supported, or absent. */
export function supported(field: string, value: string | undefined, values: readonly string[]): FieldError[] {
  if (value === undefined || values.includes(value)) return [];
  const list = [...values].sort().map((text) => `"${text}"`);
  const message = `Unsupported value: ${JSON.stringify(value)}: supported values: ${list.join(', ')}`;
  return [{ field, reason: 'FieldValueNotSupported', message }];
}

export function portNumber(field: string, port: number): FieldError[] {
  return port >= 1 && port <= 65535 ? [] : [invalidValue(field, port, 'must be between 1 and 65535, inclusive')];
}

export const IMMUTABLE = 'field is immutable';
