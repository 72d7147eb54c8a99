// In: stored objects and the form a client asked for. Out: the JSON text of one object, a list, a watch event.

import { viewedBody } from './event-view.ts';
import type { View } from './request.ts';
import { apiVersionOf, type Resource } from './resources.ts';
import type { Stored } from './store.ts';
import { tableOf } from './table.ts';

export interface ListMeta {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

export interface RenderOptions {
  readonly resource: Resource;
  readonly view: View;
  readonly now: Date;
  /** What a table's rows carry of their objects: Metadata unless asked otherwise. */
  readonly includeObject: string | undefined;
}

export function renderOne(stored: Stored, options: RenderOptions): string {
  const { resource, view } = options;
  if (view === 'table') return JSON.stringify(tableOf(resource, [stored], { ...options, meta: metaOf(stored) }));
  if (view === 'metadata') return metadataOnly(stored);
  return withKind(resource, viewedBody(resource, stored));
}

export function renderList(items: readonly Stored[], meta: ListMeta, options: RenderOptions): string {
  const { resource, view } = options;
  if (view === 'table') return JSON.stringify(tableOf(resource, items, { ...options, meta: { ...meta } }));
  const listMeta = JSON.stringify(meta);
  if (view === 'metadata') {
    const kind = '"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1"';
    return `{${kind},"metadata":${listMeta},"items":[${items.map(metadataOnly).join(',')}]}`;
  }
  const kind = `"kind":"${resource.kind}List","apiVersion":"${apiVersionOf(resource)}"`;
  const bodies = items.map((stored) => viewedBody(resource, stored)).join(',');
  return `{${kind},"metadata":${listMeta},"items":[${bodies}]}`;
}

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';

export function renderEvent(type: EventType, objectText: string): string {
  return `{"type":"${type}","object":${objectText}}\n`;
}

/** A bookmark carries nothing but a version, in an object of the watched kind. */
export function renderBookmark(version: number, isInitialEnd: boolean, { resource, view }: RenderOptions): string {
  const metadata = {
    resourceVersion: String(version),
    creationTimestamp: null,
    ...(isInitialEnd && { annotations: { 'k8s.io/initial-events-end': 'true' } }),
  };
  if (view === 'table') {
    return JSON.stringify({
      kind: 'Table',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { resourceVersion: String(version) },
      columnDefinitions: null,
      rows: [],
    });
  }
  return JSON.stringify({ kind: resource.kind, apiVersion: apiVersionOf(resource), metadata });
}

function withKind(resource: Resource, body: string): string {
  return `{"kind":"${resource.kind}","apiVersion":"${apiVersionOf(resource)}",${body.slice(1)}`;
}

function metadataOnly({ object }: Stored): string {
  return JSON.stringify({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata });
}

function metaOf({ object }: Stored): ListMeta {
  return { resourceVersion: object.metadata.resourceVersion ?? '' };
}
