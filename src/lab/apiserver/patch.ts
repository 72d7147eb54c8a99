// In: an object and a patch of one of three kinds. Out: the patched object.

import { parseBody } from './decode.ts';
import { copy, isObject, type Json, type JsonObject } from './object.ts';
import { applyJsonPatch } from './patch-json.ts';
import { strategicMerge } from './patch-strategic.ts';
import { badRequest, unsupportedMediaType } from './status.ts';
import type { Body } from './write.ts';

const JSON_PATCH = 'application/json-patch+json';
const MERGE_PATCH = 'application/merge-patch+json';
const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';

/** Asked before anything else, so that a patch of an unknown kind is told so even if its object does not exist. */
export function requirePatchType({ contentType }: Body): void {
  const type = mediaType(contentType);
  if (type.startsWith('application/apply-patch')) {
    throw unsupportedMediaType(
      "this lab's API server has no server-side apply, for it keeps no managed fields; use kubectl apply without --server-side",
    );
  }
  const known = [JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH];
  if (known.includes(type)) return;
  throw unsupportedMediaType(
    `the body of the request was in an unknown format - accepted media types include: ${known.join(', ')}`,
  );
}

export function applyPatch(typeName: string, object: JsonObject, body: Body): Json {
  const patch = parseBody(body);
  const type = mediaType(body.contentType);
  if (type === JSON_PATCH) return applyJsonPatch(copy(object), patch);
  if (type === MERGE_PATCH) return mergePatch(object, patch);
  if (!isObject(patch)) throw badRequest('a strategic merge patch must be an object');
  return strategicMerge(typeName, object, patch);
}

function mediaType(contentType: string): string {
  return contentType.split(';')[0]!.trim();
}

/** RFC 7386: objects are merged, null removes, everything else replaces. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result: JsonObject = isObject(target) ? { ...target } : {};
  for (const [field, value] of Object.entries(patch)) {
    if (value === null || value === undefined) delete result[field];
    else result[field] = mergePatch(result[field], value);
  }
  return result;
}
