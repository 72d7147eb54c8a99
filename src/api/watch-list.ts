// In: a request for a list.  Out: all its objects, each cut down as it arrived, and the version they are of.
import type { ApiClient, ListMetadata } from './client/client.ts';
import { ApiError, isExpired } from './client/error.ts';
import type { ApiRequest } from './client/request.ts';
import { named, objectKey, type RawObject } from './watch-event.ts';

export type Parse<T> = (raw: unknown) => T | undefined;

const PAGE_SIZE = '500';

/** In pages only where the server reads its database: from its cache it gives everything at once, whatever the limit. */
export async function readList<T>(
  client: ApiClient,
  whole: ApiRequest,
  parse: Parse<T>,
  onContact: () => void,
): Promise<{ items: Map<string, T>; resourceVersion: string }> {
  const { resourceVersion: version, ...selectors } = whole.query ?? {};
  const paged = { ...whole, query: { ...whole.query, limit: PAGE_SIZE } };
  const items = new Map<string, T>();
  let request = version === '' || version === '0' ? paged : whole;
  for (;;) {
    const page = await readPage(client, request, items, parse, onContact);
    if (page === 'expired') {
      items.clear();
      request = whole;
    } else if (page.continueToken === '') return { items, resourceVersion: page.resourceVersion };
    else request = { ...whole, query: { ...selectors, limit: PAGE_SIZE, continue: page.continueToken } };
  }
}

async function readPage<T>(
  client: ApiClient,
  request: ApiRequest,
  items: Map<string, T>,
  parse: Parse<T>,
  onContact: () => void,
): Promise<ListMetadata | 'expired'> {
  try {
    return await client.list(request, (raw) => collect(items, named(request.path, raw), parse), onContact);
  } catch (error) {
    // The place we had reached was forgotten while we read: the rest cannot be had, so everything is asked for at once.
    if (error instanceof ApiError && isExpired(error) && request.query?.continue !== undefined) return 'expired';
    throw error;
  }
}

/** Keeps what `parse` makes of an object, under its key; nothing, if that is nothing. */
export function collect<T>(items: Map<string, T>, object: RawObject, parse: Parse<T>): void {
  const value = parse(object);
  if (value === undefined) items.delete(objectKey(object));
  else items.set(objectKey(object), value);
}
