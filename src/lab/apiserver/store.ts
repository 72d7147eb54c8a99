// All objects, in memory, under one version counter, with a window of past changes for watches. Everything is synchronous:
// a write is done when the call returns, so no two writes ever meet.
import { type KubeObject, objectKey } from './object.ts';

/** One version of one object. Its text is made once and serves every list and watch. */
export class Stored {
  readonly object: KubeObject;
  readonly version: number;
  #body: string | undefined;

  constructor(object: KubeObject, version: number) {
    this.object = object;
    this.version = version;
  }

  /** The object's JSON without kind and apiVersion, which items of a list leave out. */
  get body(): string {
    if (this.#body === undefined) {
      const { kind: _kind, apiVersion: _apiVersion, ...rest } = this.object;
      this.#body = JSON.stringify(rest);
    }
    return this.#body;
  }
}

export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly version: number;
  readonly now: Stored;
  /** What it was before; absent for ADDED. */
  readonly before: Stored | undefined;
}

export type Listener = (change: Change) => void;

interface Shelf {
  readonly objects: Map<string, Stored>;
  /** In order of key; undefined after a change. */
  sorted: readonly Stored[] | undefined;
  /** In order of version. All changes after `since` are here. */
  readonly changes: Change[];
  since: number;
  readonly listeners: Set<Listener>;
}

export class Store {
  #version: number;
  readonly #window: number;
  readonly #shelves = new Map<string, Shelf>();
  /** Changes up to here are forgotten in every shelf, also in those not opened yet. */
  #floor = 0;

  /** `window`: how many changes per resource a watch may go back. */
  constructor(window: number, firstVersion: number) {
    this.#window = window;
    this.#version = firstVersion;
  }

  get version(): number {
    return this.#version;
  }

  get(storage: string, namespace: string | undefined, name: string): Stored | undefined {
    return this.#shelf(storage).objects.get(objectKey(namespace, name));
  }

  /** All of one kind in order of namespace and name. The array is never changed, so it also serves as a snapshot. */
  list(storage: string): readonly Stored[] {
    const shelf = this.#shelf(storage);
    if (!shelf.sorted) {
      const entries = [...shelf.objects].sort(([a], [b]) => (a < b ? -1 : 1));
      shelf.sorted = entries.map(([, stored]) => stored);
    }
    return shelf.sorted;
  }

  /** Stores a new object or a new version of one. The object is the store's from here on. */
  put(storage: string, object: KubeObject): Stored {
    const shelf = this.#shelf(storage);
    const key = objectKey(object.metadata.namespace, object.metadata.name);
    const before = shelf.objects.get(key);
    const now = this.#stamp(object);
    shelf.objects.set(key, now);
    this.#record(shelf, { type: before ? 'MODIFIED' : 'ADDED', version: now.version, now, before });
    return now;
  }

  remove(storage: string, object: KubeObject): Stored {
    const shelf = this.#shelf(storage);
    const key = objectKey(object.metadata.namespace, object.metadata.name);
    const before = shelf.objects.get(key);
    shelf.objects.delete(key);
    const now = this.#stamp(object); // a deletion is a version too, and its event carries it
    this.#record(shelf, { type: 'DELETED', version: now.version, now, before });
    return now;
  }

  listen(storage: string, listener: Listener): () => void {
    const { listeners } = this.#shelf(storage);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** The changes after a version, or the oldest version that can still be asked for. */
  changesSince(storage: string, version: number): readonly Change[] | { readonly oldest: number } {
    const shelf = this.#shelf(storage);
    if (version < shelf.since) return { oldest: shelf.since };
    let from = shelf.changes.length;
    while (from > 0 && shelf.changes[from - 1]!.version > version) from--;
    return shelf.changes.slice(from);
  }

  /** Forgets past changes: watches from any older version must start over. */
  forgetChanges(): void {
    this.#floor = this.#version;
    for (const shelf of this.#shelves.values()) {
      shelf.changes.length = 0;
      shelf.since = this.#floor;
    }
  }

  /** The same objects in another history, as after restoring a backup: versions count anew from `firstVersion`. */
  rewriteHistory(firstVersion: number): void {
    this.#version = firstVersion;
    for (const shelf of this.#shelves.values()) {
      for (const [key, { object }] of shelf.objects) shelf.objects.set(key, this.#stamp(object));
      shelf.sorted = undefined;
    }
    this.forgetChanges();
  }

  #stamp(object: KubeObject): Stored {
    this.#version++;
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    return new Stored({ ...object, metadata }, this.#version);
  }

  #record(shelf: Shelf, change: Change): void {
    shelf.sorted = undefined;
    shelf.changes.push(change);
    // Trimmed in one cut when twice too long, so that a write costs the same however long the window is.
    if (shelf.changes.length > 2 * this.#window) {
      const dropped = shelf.changes.splice(0, shelf.changes.length - this.#window);
      shelf.since = dropped[dropped.length - 1]!.version;
    }
    for (const listener of [...shelf.listeners]) listener(change);
  }

  #shelf(storage: string): Shelf {
    let shelf = this.#shelves.get(storage);
    if (!shelf) {
      shelf = { objects: new Map(), sorted: undefined, changes: [], since: this.#floor, listeners: new Set() };
      this.#shelves.set(storage, shelf);
    }
    return shelf;
  }
}
