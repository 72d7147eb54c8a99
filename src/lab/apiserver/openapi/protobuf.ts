// The OpenAPI 2 document as protobuf (package openapi.v2 of gnostic), the only form that kubectl before 1.27 reads. Field
// numbers are those of OpenAPIv2.proto. Written are the parts our own document has.
import { isObject, type Json, type JsonObject } from '../object.ts';

const LENGTH_DELIMITED = 2; // wire type of strings, bytes and messages

export function encodeOpenApiV2(document: JsonObject): Uint8Array {
  const info = asObject(document.info);
  return Buffer.concat([
    text(1, document.swagger),
    message(2, text(1, info.title), text(2, info.version)),
    message(8, ...named(document.paths, 2, pathItem)),
    message(9, ...named(document.definitions, 1, schema)),
  ]);
}

/** A map is a list of pairs: NamedX { name = 1, value = 2 }. */
function named(map: Json | undefined, number: number, encode: (value: JsonObject) => Buffer): Buffer[] {
  return Object.entries(asObject(map)).map(([name, value]) =>
    message(number, text(1, name), message(2, encode(asObject(value)))),
  );
}

const METHOD_NUMBERS: Readonly<Record<string, number>> = { get: 2, put: 3, post: 4, delete: 5, patch: 8 };

function pathItem(item: JsonObject): Buffer {
  return Buffer.concat(
    Object.entries(item).map(([method, operation]) =>
      message(METHOD_NUMBERS[method]!, operationBytes(asObject(operation))),
    ),
  );
}

function operationBytes(operation: JsonObject): Buffer {
  return Buffer.concat([
    ...asList(operation.consumes).map((type) => text(7, type)),
    ...asList(operation.parameters).map((parameter) => message(8, queryParameter(asObject(parameter)))),
    ...extensions(13, operation),
  ]);
}

/** ParametersItem { Parameter = 1 { NonBodyParameter = 2 { QueryParameterSubSchema = 3 } } } */
function queryParameter({ name, type }: JsonObject): Buffer {
  return message(1, message(2, message(3, text(2, 'query'), text(4, name), text(6, type))));
}

function schema(value: JsonObject): Buffer {
  const parts = [
    text(1, value.$ref),
    text(2, value.format),
    text(4, value.description),
    ...asList(value.required).map((field) => text(19, field)),
  ];
  if (value.additionalProperties) parts.push(message(21, message(1, schema(asObject(value.additionalProperties)))));
  if (value.type) parts.push(message(22, text(1, value.type)));
  if (value.items) parts.push(message(23, message(1, schema(asObject(value.items)))));
  if (value.properties) parts.push(message(25, ...named(value.properties, 1, schema)));
  return Buffer.concat([...parts, ...extensions(31, value)]);
}

/** NamedAny { name = 1, value = 2 { yaml = 2 } }; JSON is YAML. */
function extensions(number: number, value: JsonObject): Buffer[] {
  return Object.entries(value)
    .filter(([name]) => name.startsWith('x-'))
    .map(([name, extension]) => message(number, text(1, name), message(2, text(2, yamlOf(extension)))));
}

function yamlOf(value: Json | undefined): string {
  return `${typeof value === 'string' ? value : JSON.stringify(value)}\n`;
}

function message(number: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([varint((number << 3) | LENGTH_DELIMITED), varint(body.length), body]);
}

function text(number: number, value: Json | undefined): Buffer {
  return typeof value === 'string' ? message(number, Buffer.from(value)) : Buffer.alloc(0);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let left = value;
  while (left > 0x7f) {
    bytes.push((left & 0x7f) | 0x80);
    left >>>= 7;
  }
  return Buffer.from([...bytes, left]);
}

function asObject(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

function asList(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}
