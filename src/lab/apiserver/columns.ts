// The columns `kubectl get` prints for each kind, as a table of names and functions.
import { age } from './duration.ts';
import type { KubeObject } from './object.ts';
import type { Resource } from './resources.ts';

export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer';
  /** Shown by `-o wide` only. */
  readonly wide: boolean;
  readonly about: string;
  readonly cell: (object: KubeObject, now: Date) => string | number;
}

export function columnsOf(_resource: Resource): readonly Column[] {
  return [NAME, AGE];
}

const NAME: Column = {
  name: 'Name',
  type: 'string',
  wide: false,
  about: 'Name must be unique within a namespace.',
  cell: (object) => object.metadata.name,
};

const AGE: Column = {
  name: 'Age',
  type: 'string',
  wide: false,
  about: 'How long ago the object was created.',
  cell: (object, now) => age(object.metadata.creationTimestamp, now),
};
