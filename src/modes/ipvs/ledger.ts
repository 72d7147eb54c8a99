// Things that several services may want at once, such as an address with two of them behind it. Each is there while anybody
// wants it; where claims differ, the service whose name sorts first has its way, whatever the order they came in.
import { isDeepStrictEqual } from 'node:util';

export interface Difference<V> {
  readonly key: string;
  /** Undefined: it was not there. */
  readonly before: V | undefined;
  /** Undefined: it is to go. */
  readonly after: V | undefined;
}

export class Ledger<V> {
  readonly #claims = new Map<string, Map<string, V>>();
  readonly #before = new Map<string, V | undefined>();

  get size(): number {
    return this.#claims.size;
  }

  keys(): IterableIterator<string> {
    return this.#claims.keys();
  }

  get(key: string): V | undefined {
    const claims = this.#claims.get(key);
    if (!claims) return undefined;
    let winner: string | undefined;
    for (const owner of claims.keys()) if (winner === undefined || owner < winner) winner = owner;
    return claims.get(winner!);
  }

  /** Everything that is there, by key in order of name. */
  *values(): Generator<V> {
    for (const key of [...this.#claims.keys()].sort()) yield this.get(key)!;
  }

  claim(owner: string, key: string, value: V): void {
    this.#remember(key);
    const claims = this.#claims.get(key);
    if (claims) claims.set(owner, value);
    else this.#claims.set(key, new Map([[owner, value]]));
  }

  release(owner: string, key: string): void {
    this.#remember(key);
    const claims = this.#claims.get(key);
    claims?.delete(owner);
    if (claims?.size === 0) this.#claims.delete(key);
  }

  /** What differs since the last time this was asked. */
  takeDifferences(): Difference<V>[] {
    const differences: Difference<V>[] = [];
    for (const [key, before] of this.#before) {
      const after = this.get(key);
      if (!isDeepStrictEqual(before, after)) differences.push({ key, before, after });
    }
    this.#before.clear();
    return differences;
  }

  #remember(key: string): void {
    if (!this.#before.has(key)) this.#before.set(key, this.get(key));
  }
}
