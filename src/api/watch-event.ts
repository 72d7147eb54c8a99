// In: one line of a watch stream.  Out: what it says, checked as far as the list-watch loop relies on it.
import { contentError, snippet } from './client/answer.ts';
import { statusError } from './client/error.ts';

export type WatchEvent =
  | { readonly kind: 'upsert' | 'remove'; readonly object: RawObject; readonly version: string }
  | { readonly kind: 'bookmark'; readonly version: string; readonly endsInitialEvents: boolean };

/** Any Kubernetes object, of which only the metadata is known. */
export interface RawObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

/** Throws an ApiError for an ERROR event and for anything that is not an event. */
export function decodeEvent(path: string, line: string): WatchEvent {
  const request = { method: 'GET', path } as const;
  let frame: { type?: unknown; object?: Partial<RawObject> } | null;
  try {
    frame = JSON.parse(line);
  } catch (cause) {
    throw contentError(request, `not a watch event: ${snippet(line)}`, cause);
  }
  if (frame?.type === 'ERROR') throw statusError(`WATCH ${path}`, frame.object);
  const metadata = frame?.object?.metadata;
  const version = metadata?.resourceVersion;
  if (typeof version !== 'string' || version === '') {
    throw contentError(request, `an event without a version: ${snippet(line)}`);
  }
  const object = frame!.object as RawObject;
  switch (frame!.type) {
    case 'ADDED':
    case 'MODIFIED':
      return { kind: 'upsert', object: named(path, object), version };
    case 'DELETED':
      return { kind: 'remove', object: named(path, object), version };
    case 'BOOKMARK':
      return { kind: 'bookmark', version, endsInitialEvents: metadata?.annotations?.[INITIAL_EVENTS_END] === 'true' };
    default:
      throw contentError(request, `an event of an unknown type: ${snippet(line)}`);
  }
}

/** The object, once it is known to have a name to be kept under. */
export function named(path: string, object: unknown): RawObject {
  const name = (object as Partial<RawObject> | null)?.metadata?.name;
  if (typeof name === 'string' && name !== '') return object as RawObject;
  throw contentError({ method: 'GET', path }, `an object without a name: ${snippet(JSON.stringify(object) ?? '')}`);
}

/** `namespace/name`, or `name` for what has no namespace. */
export function objectKey({ metadata }: RawObject): string {
  return metadata.namespace ? `${metadata.namespace}/${metadata.name}` : metadata.name;
}

/** Versions are decimal numbers of any length that only grow; other texts are never older. */
export function isOlder(version: string, than: string): boolean {
  if (!/^\d+$/.test(version) || !/^\d+$/.test(than)) return false;
  return version.length === than.length ? version < than : version.length < than.length;
}
