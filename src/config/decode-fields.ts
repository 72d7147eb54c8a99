// Checks plain data against a table of fields. In: what a YAML or JSON parser made of the text. Out: typed values, the
// paths of fields the table does not have, and the fields whose value is of the wrong type.
import { parseDuration } from '../lib/duration.ts';
import { type Fields, type FieldType, VMODULE_FIELDS } from './document.ts';
import { isQuantity } from './quantity.ts';

export interface FieldsResult {
  readonly value: Readonly<Record<string, unknown>>;
  readonly unknown: readonly string[];
  readonly problems: readonly string[];
}

interface Findings {
  readonly unknown: string[];
  readonly problems: string[];
}

export function decodeFields(data: object, fields: Fields): FieldsResult {
  const findings: Findings = { unknown: [], problems: [] };
  return { value: decodeObject(data, fields, '', findings), ...findings };
}

function decodeObject(data: object, fields: Fields, prefix: string, findings: Findings): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(data)) {
    const path = prefix + name;
    const type = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (type === undefined) findings.unknown.push(path);
    else if (value !== null) result[name] = decodeValue(value, type, path, findings);
  }
  return result;
}

function decodeValue(value: unknown, type: FieldType | Fields, path: string, findings: Findings): unknown {
  if (typeof type === 'object') {
    if (isObject(value)) return decodeObject(value, type, `${path}.`, findings);
    return wrong(value, 'an object', path, findings);
  }
  switch (type) {
    case 'list of string':
      return decodeList(value, path, findings, (item, at) =>
        item === null ? '' : decodeValue(item, 'string', at, findings),
      );
    case 'list of vmodule':
      return decodeList(value, path, findings, (item, at) => decodeValue(item ?? {}, VMODULE_FIELDS, at, findings));
    case 'map of bool':
      if (!isObject(value)) return wrong(value, 'an object', path, findings);
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [
          key,
          item === null ? false : decodeValue(item, 'bool', `${path}.${key}`, findings),
        ]),
      );
    default:
      return decodeScalar(value, type, path, findings);
  }
}

type ScalarType = Exclude<FieldType, 'list of string' | 'list of vmodule' | 'map of bool'>;

function decodeScalar(value: unknown, type: ScalarType, path: string, findings: Findings): unknown {
  switch (type) {
    case 'string':
      return typeof value === 'string' ? value : wrong(value, 'a string', path, findings);
    case 'bool':
      return typeof value === 'boolean' ? value : wrong(value, 'a boolean', path, findings);
    case 'int32':
      return isIntegerWithin(value, -(2 ** 31), 2 ** 31 - 1) ? value : wrong(value, 'a 32-bit integer', path, findings);
    case 'uint32':
      return isIntegerWithin(value, 0, 2 ** 32 - 1)
        ? value
        : wrong(value, 'an unsigned 32-bit integer', path, findings);
    case 'float32':
      return Number.isFinite(value) ? Math.fround(value as number) : wrong(value, 'a number', path, findings);
    case 'quantity':
      return isQuantity(String(value)) && typeof value !== 'boolean'
        ? String(value)
        : wrong(value, 'a quantity', path, findings);
    case 'duration or integer':
      if (isIntegerWithin(value, -(2 ** 63), 2 ** 63)) return BigInt(value);
      return decodeDuration(value, path, findings);
    case 'duration':
      return decodeDuration(value, path, findings);
  }
}

function decodeDuration(value: unknown, path: string, findings: Findings): unknown {
  if (typeof value !== 'string') return wrong(value, 'a string with a duration', path, findings);
  const parsed = parseDuration(value);
  if ('duration' in parsed) return parsed.duration;
  findings.problems.push(`json: field ${path}: ${parsed.problem}`);
  return undefined;
}

function decodeList<T>(
  value: unknown,
  path: string,
  findings: Findings,
  decode: (item: unknown, at: string) => T,
): T[] | undefined {
  if (Array.isArray(value)) return value.map((item: unknown, i) => decode(item, `${path}[${i}]`));
  wrong(value, 'a list', path, findings);
  return undefined;
}

function wrong(value: unknown, wanted: string, path: string, findings: Findings): undefined {
  findings.problems.push(`json: cannot unmarshal ${JSON.stringify(value)} into field ${path}: not ${wanted}`);
  return undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isIntegerWithin(value: unknown, low: number, high: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= low && value <= high;
}
