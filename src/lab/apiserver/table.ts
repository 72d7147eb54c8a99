// In: objects. Out: a meta.k8s.io Table, the rows that `kubectl get` prints. What the columns are is in columns.ts.
import { columnsOf } from './columns.ts';
import type { JsonObject } from './object.ts';
import type { ListMeta } from './render.ts';
import type { Resource } from './resources.ts';
import type { Stored } from './store.ts';

export interface TableOptions {
  readonly meta: ListMeta;
  readonly now: Date;
  readonly includeObject: string | undefined;
}

export function tableOf(resource: Resource, items: readonly Stored[], options: TableOptions): JsonObject {
  const columns = columnsOf(resource);
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: { ...options.meta },
    columnDefinitions: columns.map(({ name, type, wide, about }) => ({
      name,
      type,
      format: name === 'Name' ? 'name' : '',
      description: about,
      priority: wide ? 1 : 0,
    })),
    rows: items.map((stored) => ({
      cells: columns.map((column) => column.cell(stored.object, options.now)),
      ...rowObject(stored, options.includeObject),
    })),
  };
}

function rowObject({ object }: Stored, include: string | undefined): JsonObject {
  if (include === 'None') return {};
  if (include === 'Object') return { object };
  return { object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata } };
}
