// get and list: one object, or many of them, whole or in pages.

import { type ListMeta, type RenderOptions, renderList, renderOne } from './render.ts';
import type { ApiRequest } from './request.ts';
import { objectPredicate } from './selectors.ts';
import { badRequest, expired, notFound, tooLargeVersion } from './status.ts';
import type { Store, Stored } from './store.ts';
import type { World } from './world.ts';

export function renderOptions(world: World, { resource, view, query }: ApiRequest): RenderOptions {
  return { resource, view, now: world.now(), includeObject: query.get('includeObject') ?? undefined };
}

export function readOne(world: World, request: ApiRequest): string {
  return renderOne(requireStored(world, request), renderOptions(world, request));
}

export function requireStored(world: World, { resource, namespace, name }: ApiRequest): Stored {
  const stored = world.store.get(resource.storage, namespace, name!);
  if (!stored) throw notFound(resource, name!);
  return stored;
}

export async function readList(world: World, pages: Pages, request: ApiRequest): Promise<string> {
  const { query } = request;
  const token = query.get('continue');
  const page = token ? pages.resume(token) : await firstPage(world, request);
  const all = matching(page.items, request);
  const limit = Number(query.get('limit') ?? 0);
  const shown = limit > 0 ? all.slice(0, limit) : all;
  const left = all.length - shown.length;
  const meta: ListMeta = {
    resourceVersion: String(page.version),
    // A selector leaves the number of matches behind the page unknown, as on a cluster.
    ...(left > 0 && { continue: pages.remember(page.items, shown[shown.length - 1]!, page.version) }),
    ...(left > 0 && !isSelective(query) && { remainingItemCount: left }),
  };
  return renderList(shown, meta, renderOptions(world, request));
}

export function matching(
  items: readonly Stored[],
  { resource, namespace, name, query }: ApiRequest,
): readonly Stored[] {
  const predicate = objectPredicate(resource, selectorText(query));
  if (!predicate && namespace === undefined && name === undefined) return items;
  return items.filter(
    ({ object }) =>
      (namespace === undefined || object.metadata.namespace === namespace) &&
      (name === undefined || object.metadata.name === name) &&
      (!predicate || predicate(object)),
  );
}

export function selectorText(query: URLSearchParams): { label: string; field: string } {
  return { label: query.get('labelSelector') ?? '', field: query.get('fieldSelector') ?? '' };
}

function isSelective(query: URLSearchParams): boolean {
  return Boolean(query.get('labelSelector') || query.get('fieldSelector'));
}

async function firstPage(world: World, { resource, query }: ApiRequest): Promise<Page> {
  const version = parseVersion(query.get('resourceVersion'));
  const match = query.get('resourceVersionMatch');
  if (match === 'Exact' && version !== world.store.version) {
    throw expired('The provided resource version is unavailable; only the latest one is kept for lists');
  }
  if (version > 0) await reachVersion(world.store, version);
  return { items: world.store.list(resource.storage), version: world.store.version };
}

/** 0: the client takes any version. */
export function parseVersion(text: string | null): number {
  if (!text) return 0;
  if (!/^\d+$/.test(text)) throw badRequest(`resourceVersion: Invalid value: "${text}": must be a whole number`);
  return Number(text);
}

const FRESHNESS_WAIT_MS = 3000; // how long a cluster's server waits for a version it has not seen

/** A version ahead of ours may be on its way, or from another history; only time can tell. */
export async function reachVersion(store: Store, version: number): Promise<void> {
  const deadline = Date.now() + FRESHNESS_WAIT_MS;
  while (store.version < version) {
    if (Date.now() >= deadline) throw tooLargeVersion(version, store.version);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

interface Page {
  readonly items: readonly Stored[];
  readonly version: number;
}

/** Snapshots that clients are still reading page by page. Only so many are kept; a client that is too slow gets 410. */
export class Pages {
  readonly #kept = new Map<string, Page>();

  remember(items: readonly Stored[], last: Stored, version: number): string {
    const token = Buffer.from(JSON.stringify({ version, after: last.version })).toString('base64url');
    this.#kept.set(token, { items: items.slice(items.indexOf(last) + 1), version });
    const oldest = this.#kept.keys().next();
    if (this.#kept.size > 64 && !oldest.done) this.#kept.delete(oldest.value);
    return token;
  }

  resume(token: string): Page {
    const page = this.#kept.get(token);
    if (!page) {
      throw expired(
        'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.',
      );
    }
    return page;
  }

  clear(): void {
    this.#kept.clear();
  }
}
