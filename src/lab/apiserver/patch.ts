// In: an object and a patch of one of three kinds. Out: the patched object.

import { parseBody } from './decode.ts';
import { copy, isObject, type Json, type JsonObject } from './object.ts';
import { applyJsonPatch } from './patch-json.ts';
import { strategicMerge } from './patch-strategic.ts';
import { badRequest, unsupportedMediaType } from './status.ts';
import type { Body } from './write.ts';

export function applyPatch(typeName: string, object: JsonObject, body: Body): Json {
  const contentType = body.contentType.split(';')[0]!.trim();
  const patch = parseBody(body);
  switch (contentType) {
    case 'application/json-patch+json':
      return applyJsonPatch(copy(object), patch);
    case 'application/merge-patch+json':
      return mergePatch(object, patch);
    case 'application/strategic-merge-patch+json':
      if (!isObject(patch)) throw badRequest('a strategic merge patch must be an object');
      return strategicMerge(typeName, object, patch);
    case 'application/apply-patch+yaml':
    case 'application/apply-patch+cbor':
      throw unsupportedMediaType(
        "this lab's API server has no server-side apply, for it keeps no managed fields; use kubectl apply without --server-side",
      );
    default:
      throw unsupportedMediaType(
        `the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json`,
      );
  }
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
