// The shape every API object shares, as JSON. Objects in the store are never changed in place: a change makes a new one.

export type Json = string | number | boolean | null | Json[] | JsonObject;
/** `undefined` is a field that is not there. */
export type JsonObject = { [field: string]: Json | undefined };

export type OwnerReference = {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
};

export type ObjectMeta = {
  name: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: { [key: string]: string };
  annotations?: { [key: string]: string };
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
};

export type KubeObject = { apiVersion: string; kind: string; metadata: ObjectMeta; [field: string]: Json | undefined };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value under a dotted path, or undefined where the path ends early. */
export function valueAt(value: Json | undefined, path: string): Json | undefined {
  let at = value;
  for (const field of path.split('.')) at = isObject(at) ? at[field] : undefined;
  return at;
}

/** Equal as JSON: the order of fields means nothing, and a field that is undefined is a field that is absent. */
export function sameJson(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, i) => sameJson(item, b[i]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const fields = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...fields].every((field) => sameJson(a[field], b[field]));
}

export function copy<T extends Json>(value: T): T {
  return structuredClone(value);
}

/** `shop/cart`, or `node1` for what has no namespace. */
export function objectKey(namespace: string | undefined, name: string): string {
  return namespace ? `${namespace}/${name}` : name;
}

/** Kubernetes writes times in whole seconds. */
export function timestamp(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

/** The finer time of events. */
export function microTimestamp(date: Date): string {
  return `${date.toISOString().slice(0, 23)}000Z`;
}
