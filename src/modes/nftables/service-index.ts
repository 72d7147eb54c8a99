// What all services hold together, kept up to date service by service, and what changed in it.  In: services that come and
// go.  Out: the steps in rows, chains and maps that follow. Several services may need one chain or one row; it stays until the
// last lets go. Several may claim one address; of those with endpoints, the first by name has it, in whatever order they came.
import { isDeepStrictEqual } from 'node:util';
import type { NftSet } from '../../kernel/nftables-objects.ts';
import type { Family } from '../../lib/ip.ts';
import type { ServiceModel, ServicePort } from '../../model/model.ts';
import { type AffinityPlan, affinityMaps } from './affinity.ts';
import { allLists, type Claim, claimsOf, frontendKey } from './claims.ts';
import { chainsOf, rowsOf, sharedRowsOf } from './rows.ts';
import type { ChainPlan, Row } from './rules.ts';

export interface PlanDelta {
  readonly addedChains: readonly ChainPlan[];
  /** Chains whose rules are others now. */
  readonly replacedChains: readonly ChainPlan[];
  readonly addedSets: readonly NftSet[];
  readonly removedSets: readonly NftSet[];
  readonly addedRows: readonly Row[];
  /** Rows that go, and rows that come back with another value. */
  readonly removedRows: readonly Row[];
  /** Maps that remember clients of endpoints which may be gone. */
  readonly affinity: readonly AffinityPlan[];
}

/** Services were replaced. Where the kernel is read anyway nobody asks for the steps, and then they are never computed. */
export interface Replacement {
  readonly removedChains: readonly string[];
  delta(): PlanDelta;
}

interface Counted<T> {
  value: T;
  count: number;
}

export class ServiceIndex {
  /** By frontend key; who has it comes first. Nearly always one. */
  readonly #claims = new Map<string, readonly Claim[]>();
  readonly #sharedRows = new Map<string, Counted<Row>>();
  readonly #chains = new Map<string, Counted<ChainPlan>>();
  readonly #affinity = new Map<string, Counted<AffinityPlan>>();
  readonly #family: Family;

  constructor(family: Family) {
    this.#family = family;
  }

  /** Replaces services. What that changes can be asked for until they are replaced again. */
  replace(
    changes: Iterable<readonly [before: ServiceModel | undefined, after: ServiceModel | undefined]>,
  ): Replacement {
    const journal = new Journal();
    for (const [before, after] of changes) {
      for (const port of before?.ports ?? []) this.#remove(port, journal);
      for (const port of after?.ports ?? []) this.#add(port, journal);
    }
    const removedChains = [...journal.chains.keys()].filter(
      (name) => journal.chains.get(name) && !this.#chains.has(name),
    );
    return { removedChains, delta: () => this.#delta(journal) };
  }

  /** Who has which address. */
  *claims(): Generator<Claim> {
    for (const [first] of this.#claims.values()) yield first!;
  }

  *rows(): Generator<Row> {
    for (const { value } of this.#sharedRows.values()) yield value;
    for (const claim of this.claims()) yield* rowsOf(claim);
  }

  chains(): ChainPlan[] {
    return Array.from(this.#chains.values(), ({ value }) => value);
  }

  affinity(): AffinityPlan[] {
    return Array.from(this.#affinity.values(), ({ value }) => value);
  }

  #add(port: ServicePort, journal: Journal): void {
    for (const claim of claimsOf(port)) {
      const key = frontendKey(claim);
      const others = this.#claims.get(key) ?? [];
      note(journal.claims, key, others);
      this.#claims.set(key, others.length === 0 ? [claim] : [...others, claim].sort(byRight));
      for (const chain of chainsOf(claim)) count(this.#chains, journal.chains, chain.name, chain);
    }
    for (const row of sharedRowsOf(port)) count(this.#sharedRows, journal.sharedRows, `${row.set} ${row.key}`, row);
    for (const map of affinityMaps(port, this.#family)) count(this.#affinity, journal.affinity, map.set.name, map);
  }

  #remove(port: ServicePort, journal: Journal): void {
    for (const claim of claimsOf(port)) {
      const key = frontendKey(claim);
      const all = this.#claims.get(key) ?? [];
      note(journal.claims, key, all);
      const others = all.filter((other) => other.port !== port);
      if (others.length > 0) this.#claims.set(key, others);
      else this.#claims.delete(key);
      for (const { name } of chainsOf(claim)) discount(this.#chains, journal.chains, name);
    }
    for (const row of sharedRowsOf(port)) discount(this.#sharedRows, journal.sharedRows, `${row.set} ${row.key}`);
    for (const map of affinityMaps(port, this.#family)) discount(this.#affinity, journal.affinity, map.set.name);
  }

  #delta(journal: Journal): PlanDelta {
    const chains = compare(journal.chains, this.#chains);
    const sharedRows = compare(journal.sharedRows, this.#sharedRows);
    const affinity = compare(journal.affinity, this.#affinity);
    const addedRows = [...sharedRows.added];
    const removedRows = [...sharedRows.removed];
    for (const [key, before] of journal.claims) {
      const [old] = before;
      const [now] = this.#claims.get(key) ?? [];
      if (old !== now) diffRows(old ? rowsOf(old) : [], now ? rowsOf(now) : [], addedRows, removedRows);
    }
    return {
      addedChains: chains.added,
      replacedChains: chains.replaced,
      addedSets: affinity.added.map(({ set }) => set),
      removedSets: affinity.removed.map(({ set }) => set),
      addedRows,
      removedRows,
      affinity: affinity.replaced,
    };
  }
}

/** What was there before, of everything that was touched. */
class Journal {
  readonly claims = new Map<string, readonly Claim[]>();
  readonly sharedRows = new Map<string, Row | undefined>();
  readonly chains = new Map<string, ChainPlan | undefined>();
  readonly affinity = new Map<string, AffinityPlan | undefined>();
}

function note<T>(journal: Map<string, T>, key: string, before: T): void {
  if (!journal.has(key)) journal.set(key, before);
}

function count<T>(index: Map<string, Counted<T>>, journal: Map<string, T | undefined>, key: string, value: T): void {
  const held = index.get(key);
  note(journal, key, held?.value);
  if (!held) index.set(key, { value, count: 1 });
  else {
    held.value = value;
    held.count++;
  }
}

function discount<T>(index: Map<string, Counted<T>>, journal: Map<string, T | undefined>, key: string): void {
  const held = index.get(key)!;
  note(journal, key, held.value);
  if (--held.count === 0) index.delete(key);
}

function compare<T>(
  journal: ReadonlyMap<string, T | undefined>,
  index: ReadonlyMap<string, Counted<T>>,
): { added: T[]; replaced: T[]; removed: T[] } {
  const changes: { added: T[]; replaced: T[]; removed: T[] } = { added: [], replaced: [], removed: [] };
  for (const [key, before] of journal) {
    const now = index.get(key)?.value;
    if (now === undefined && before !== undefined) changes.removed.push(before);
    if (now === undefined) continue;
    if (before === undefined) changes.added.push(now);
    else if (!isDeepStrictEqual(before, now)) changes.replaced.push(now);
  }
  return changes;
}

/** Adds to `added` and `removed` what leads from one list of rows to the other. A changed row is in both. */
export function diffRows(before: Iterable<Row>, after: Iterable<Row>, added: Row[], removed: Row[]): void {
  const held = new Map<string, Map<string, Row>>();
  for (const row of before) {
    const ofSet = held.get(row.set);
    if (ofSet) ofSet.set(row.key, row);
    else held.set(row.set, new Map([[row.key, row]]));
  }
  for (const row of after) {
    const ofSet = held.get(row.set);
    const old = ofSet?.get(row.key);
    if (old) ofSet!.delete(row.key);
    if (old && old.value === row.value && old.comment === row.comment) continue;
    if (old) removed.push(old);
    added.push(row);
  }
  for (const ofSet of held.values()) for (const row of ofSet.values()) removed.push(row);
}

/** Whoever has somebody to answer comes before those who would only refuse, as where every service has its own rules.
 *  Within one port, which may name an address twice, the claim with the most rows comes first. */
function byRight(a: Claim, b: Claim): number {
  const isServed = (claim: Claim): number => Number(allLists(claim).length > 0);
  if (isServed(a) !== isServed(b)) return isServed(b) - isServed(a);
  if (a.port.displayName !== b.port.displayName) return a.port.displayName < b.port.displayName ? -1 : 1;
  return Number(b.frontend.kind === 'load-balancer-ip') - Number(a.frontend.kind === 'load-balancer-ip');
}
