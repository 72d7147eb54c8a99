// In: a request body in Kubernetes' protobuf form. Out: the same object as JSON, by the schema's types.
//
//   "k8s\0"  Unknown { typeMeta = 1 { apiVersion = 1, kind = 2 }, raw = 2: the object's own message }
import type { Json, JsonObject } from './object.ts';
import type { FieldType } from './schema/language.ts';
import { typeNamed } from './schema/schema.ts';
import { MEANT_ZEROS, wireFields } from './schema/wire.ts';
import { badRequest, unsupportedMediaType } from './status.ts';

const MAGIC = 'k8s\0';

export function decodeProtobufBody(body: Buffer): JsonObject {
  if (body.subarray(0, 4).toString('latin1') !== MAGIC)
    throw badRequest('the body is not in the protobuf form of Kubernetes');
  const envelope = readFields(body.subarray(4));
  const typeMeta = readFields(asBytes(envelope.find(({ number }) => number === 1)?.value));
  const text = (number: number) => asBytes(typeMeta.find((field) => field.number === number)?.value).toString();
  const raw = asBytes(envelope.find(({ number }) => number === 2)?.value);
  const [apiVersion, kind] = [text(1), text(2)];
  return { apiVersion, kind, ...decodeMessage(kind, raw) };
}

function decodeMessage(typeName: string, bytes: Buffer): JsonObject {
  const names = wireFields(typeName);
  if (!names) throw unsupportedMediaType(`this server reads a ${typeName} as JSON or YAML, not as protobuf`);
  const type = typeNamed(typeName);
  const result: JsonObject = {};
  for (const { number, value } of readFields(bytes)) {
    const name = names.get(number);
    const field = name === undefined ? undefined : type.get(name);
    if (name === undefined || !field) continue;
    if (field.type.kind === 'map') {
      const [key, entry] = mapEntry(field.type.of, asBytes(value), name);
      result[name] = { ...(result[name] as JsonObject | undefined), [key]: entry };
    } else if (field.type.kind === 'list') {
      const item = decodeValue(field.type.of, value, name);
      result[name] = [...((result[name] as Json[] | undefined) ?? []), item ?? ''];
    } else {
      const decoded = decodeValue(field.type, value, name);
      if (decoded !== undefined) result[name] = decoded;
    }
  }
  return result;
}

/** Undefined: a zero that only says that the field is not set. */
function decodeValue(type: FieldType, value: WireValue, name: string): Json | undefined {
  if (type.kind === 'named') {
    const message = decodeMessage(type.name, asBytes(value));
    return Object.keys(message).length > 0 ? message : undefined;
  }
  if (type.kind !== 'plain') throw unsupportedMediaType(`this server reads ${name} as JSON or YAML, not as protobuf`);
  switch (type.plain) {
    case 'int32':
    case 'int64':
      return meant(Number(BigInt.asIntN(64, asVarint(value))), name);
    case 'bool':
      return meant(asVarint(value) !== 0n, name);
    case 'time':
      return timeOf(asBytes(value));
    case 'intOrString':
      return intOrString(asBytes(value));
    case 'any':
      if (asBytes(value).length === 0) return undefined;
      throw unsupportedMediaType(`this server reads ${name} as JSON or YAML, not as protobuf`);
    default:
      return asBytes(value).toString() || undefined;
  }
}

function meant<T extends number | boolean>(value: T, name: string): T | undefined {
  return value || MEANT_ZEROS.has(name) ? value : undefined;
}

function mapEntry(of: FieldType, bytes: Buffer, name: string): [string, Json] {
  const fields = readFields(bytes);
  const value = fields.find(({ number }) => number === 2)?.value ?? Buffer.alloc(0);
  return [asBytes(fields.find(({ number }) => number === 1)?.value).toString(), decodeValue(of, value, name) ?? ''];
}

/** Time { seconds = 1, nanos = 2 } */
function timeOf(bytes: Buffer): string | undefined {
  const seconds = readFields(bytes).find(({ number }) => number === 1)?.value;
  return seconds === undefined
    ? undefined
    : new Date(Number(asVarint(seconds)) * 1000).toISOString().replace('.000', '');
}

/** IntOrString { type = 1: 0 for a number, intVal = 2, strVal = 3 } */
function intOrString(bytes: Buffer): number | string | undefined {
  const fields = readFields(bytes);
  const value = (number: number) => fields.find((field) => field.number === number)?.value;
  if (asVarint(value(1) ?? 0n) === 1n) return asBytes(value(3)).toString();
  const number = Number(BigInt.asIntN(64, asVarint(value(2) ?? 0n)));
  return number === 0 ? undefined : number;
}

type WireValue = bigint | Buffer;

interface WireField {
  readonly number: number;
  readonly value: WireValue;
}

const VARINT = 0;
const FIXED64 = 1;
const LENGTH_DELIMITED = 2;
const FIXED32 = 5;

function readFields(bytes: Buffer): WireField[] {
  const fields: WireField[] = [];
  let at = 0;
  const varint = () => {
    let result = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw badRequest('the protobuf body ends in the middle of a number');
      result |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return result;
    }
  };
  const take = (length: number) => {
    if (at + length > bytes.length) throw badRequest('the protobuf body ends in the middle of a field');
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const number = tag >>> 3;
    const wireType = tag & 7;
    if (wireType === VARINT) fields.push({ number, value: varint() });
    else if (wireType === LENGTH_DELIMITED) fields.push({ number, value: take(Number(varint())) });
    else if (wireType === FIXED64) take(8);
    else if (wireType === FIXED32) take(4);
    else throw badRequest(`the protobuf body has a field of unknown wire type ${wireType}`);
  }
  return fields;
}

function asBytes(value: WireValue | undefined): Buffer {
  return Buffer.isBuffer(value) ? value : Buffer.alloc(0);
}

function asVarint(value: WireValue): bigint {
  return typeof value === 'bigint' ? value : 0n;
}
