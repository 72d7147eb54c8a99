// The plain consumer of a watch: one map of what there is, and one call for each object that really changed. After a
// relist only the differences are told; the new map takes the place of the old, so nothing is kept twice.
import type { WatchHandler } from '../../src/api/watch.ts';

/** `value` undefined: the object is gone, and `previous` is its last known state. */
export type Changed<T> = (key: string, value: T | undefined, previous: T | undefined) => void;

export class WatchStore<T> implements WatchHandler<T> {
  readonly #isSame: (a: T, b: T) => boolean;
  readonly #changed: Changed<T>;
  readonly #replaced: () => void;
  #items: Map<string, T> = new Map();

  /** `replaced` is called after each full read, when all its differences have been told. */
  constructor(isSame: (a: T, b: T) => boolean, changed: Changed<T>, replaced: () => void = () => {}) {
    this.#isSame = isSame;
    this.#changed = changed;
    this.#replaced = replaced;
  }

  get items(): ReadonlyMap<string, T> {
    return this.#items;
  }

  replace(items: Map<string, T>): void {
    const held = this.#items;
    this.#items = items;
    for (const [key, previous] of held) if (!items.has(key)) this.#changed(key, undefined, previous);
    for (const [key, value] of items) {
      const previous = held.get(key);
      if (previous !== undefined && this.#isSame(previous, value)) items.set(key, previous);
      else this.#changed(key, value, previous);
    }
    this.#replaced();
  }

  upsert(key: string, value: T): void {
    const previous = this.#items.get(key);
    if (previous !== undefined && this.#isSame(previous, value)) return;
    this.#items.set(key, value);
    this.#changed(key, value, previous);
  }

  remove(key: string): void {
    const previous = this.#items.get(key);
    if (this.#items.delete(key)) this.#changed(key, undefined, previous);
  }
}
