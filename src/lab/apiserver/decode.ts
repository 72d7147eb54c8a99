// In: the text of a request's body. Out: an object of the expected kind, or the reason why it is none.
import { parse as parseYaml } from 'yaml';
import { isObject, type Json, type KubeObject } from './object.ts';
import { decodeProtobufBody } from './protobuf-body.ts';
import { apiVersionOf, type Resource } from './resources.ts';
import { checkObject } from './schema/check.ts';
import { typeOfKind } from './schema/schema.ts';
import { badRequest, unsupportedMediaType } from './status.ts';
import type { Body } from './write.ts';

/** What to do about fields that no schema knows. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export function parseBody({ contentType, bytes }: Body): Json {
  if (contentType.includes('vnd.kubernetes.protobuf')) return decodeProtobufBody(bytes);
  const text = bytes.toString();
  try {
    if (contentType.includes('yaml')) return parseYaml(text) as Json;
    if (contentType !== '' && !contentType.includes('json')) {
      throw unsupportedMediaType(
        `the body of the request was in an unknown format (${contentType}); this server reads JSON and YAML`,
      );
    }
    return JSON.parse(text) as Json;
  } catch (error) {
    if (error instanceof SyntaxError) throw badRequest(`the object provided is unrecognized: ${error.message}`);
    throw error;
  }
}

export interface Decoded {
  readonly object: KubeObject;
  /** What kubectl prints as warnings. */
  readonly warnings: readonly string[];
}

export function decodeObject(resource: Resource, value: Json, validation: FieldValidation): Decoded {
  if (!isObject(value)) throw badRequest(`a ${resource.kind} must be an object`);
  const apiVersion = value.apiVersion ?? apiVersionOf(resource);
  const kind = value.kind ?? resource.kind;
  if (kind !== resource.kind || apiVersion !== apiVersionOf(resource)) {
    const wanted = `${apiVersionOf(resource)}, Kind=${resource.kind}`;
    throw badRequest(`the object provided is a ${apiVersion}, Kind=${kind}, but ${wanted} was expected`);
  }
  const checked = checkObject(typeOfKind(resource), value, kind, apiVersion);
  const complaints = validation === 'Ignore' ? [] : checked.unknown.map((path) => `unknown field "${path}"`);
  if (validation === 'Strict' && complaints.length > 0) {
    const what = `${kind} in version "${resource.version}" cannot be handled as a ${kind}`;
    throw badRequest(`${what}: strict decoding error: ${complaints.join(', ')}`);
  }
  const metadata = { ...(isObject(checked.value.metadata) ? checked.value.metadata : {}) };
  delete metadata.managedFields; // this server keeps none
  delete metadata.selfLink;
  return { object: { ...checked.value, apiVersion, kind, metadata } as KubeObject, warnings: complaints };
}
