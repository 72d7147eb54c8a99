// In: what the kernel holds, and the plan.  Out: the change that leads from one to the other, and its transactions, whose operations
// are in an order in which nothing is referred to before it exists or after it went.
// After the plan before, that is what changed with its services; after a reading of the kernel, everything is compared.
import { isDeepStrictEqual } from 'node:util';
import type { NftBase, NftOperation, NftSet, NftTable } from '../../kernel/nftables-objects.ts';
import type { AffinityPlan } from './affinity.ts';
import { ruleOf } from './expressions.ts';
import type { FixedPart } from './fixed.ts';
import { TABLE_NAME, tableComment } from './names.ts';
import { allChains, allRows, allSets, type NftablesPlan } from './plan.ts';
import type { ChainPlan, Row } from './rules.ts';
import { diffRows } from './service-index.ts';
import { ENDPOINT_SETS } from './sets.ts';

/** What was read of the table. Rules are not: they are written anew. */
export interface KernelState {
  readonly kind: 'read';
  /** `foreign`: another program made it, or another version, or it cannot be mended. */
  readonly table: 'none' | 'foreign' | 'ours';
  /** By name; of base chains with where packets enter them. */
  readonly chains: ReadonlyMap<string, NftBase | undefined>;
  readonly sets: ReadonlySet<string>;
  readonly rows: readonly Row[];
}

export interface NftablesChange {
  readonly table: NftTable;
  readonly comment: string;
  readonly isFull: boolean;
  /** The table goes and comes back in one transaction. */
  readonly remakesTable: boolean;
  /** There is a table that serves packets until then. */
  readonly replacesTable: boolean;
  readonly addedChains: readonly ChainPlan[];
  readonly replacedChains: readonly ChainPlan[];
  /** Chains that lose their rules: nothing leads to them any more. */
  readonly emptiedChains: readonly string[];
  readonly removedChains: readonly string[];
  readonly addedSets: readonly NftSet[];
  readonly removedSets: readonly string[];
  readonly addedRows: readonly Row[];
  readonly removedRows: readonly Row[];
  /** The sets of fixed names, which rows are written by. */
  readonly rowSets: readonly NftSet[];
  /** Maps to be cleared of clients whose endpoint went. */
  readonly affinity: readonly AffinityPlan[];
}

export function diff(held: KernelState | NftablesPlan, plan: NftablesPlan): NftablesChange {
  if ('kind' in held) return isMendable(held, plan) ? mend(held, plan) : remake(held, plan);
  if (held.generation !== plan.generation - 1) throw new Error('the plan was not made from the plan that is held');
  return follow(plan);
}

/** Where a base chain's packets come from cannot be changed while it stands. */
function isMendable(held: KernelState, { fixed }: NftablesPlan): boolean {
  return (
    held.table === 'ours' &&
    fixed.chains.every(({ name, base }) => !held.chains.has(name) || isDeepStrictEqual(held.chains.get(name), base))
  );
}

function follow(plan: NftablesPlan): NftablesChange {
  const { fixed, replacement, replacedFixed, discarded } = plan;
  const delta = replacement.delta();
  const fixedDelta = replacedFixed ? diffFixed(replacedFixed, fixed) : NO_FIXED_CHANGE;
  return {
    ...common(plan),
    isFull: false,
    remakesTable: false,
    replacesTable: false,
    addedChains: [...fixedDelta.addedChains, ...delta.addedChains],
    replacedChains: [...fixedDelta.replacedChains, ...delta.replacedChains],
    emptiedChains: replacement.removedChains,
    removedChains: discarded,
    addedSets: [...fixedDelta.addedSets, ...delta.addedSets],
    removedSets: [...fixedDelta.removedSets, ...delta.removedSets].map(({ name }) => name),
    addedRows: [...fixedDelta.addedRows, ...delta.addedRows],
    removedRows: [...fixedDelta.removedRows, ...delta.removedRows],
    affinity: delta.affinity,
  };
}

function remake({ table }: KernelState, plan: NftablesPlan): NftablesChange {
  return {
    ...common(plan),
    isFull: true,
    remakesTable: true,
    replacesTable: table !== 'none',
    addedChains: allChains(plan),
    replacedChains: [],
    emptiedChains: [],
    removedChains: [],
    addedSets: allSets(plan),
    removedSets: [],
    addedRows: [...allRows(plan)],
    removedRows: [],
    affinity: [],
  };
}

function mend(held: KernelState, plan: NftablesPlan): NftablesChange {
  const chains = allChains(plan);
  const sets = allSets(plan);
  const wantedChains = new Set(chains.map(({ name }) => name));
  const wantedSets = new Set(sets.map(({ name }) => name));
  const strayChains = [...held.chains.keys()].filter((name) => !wantedChains.has(name));
  const addedRows: Row[] = [];
  const removedRows: Row[] = [];
  diffRows(held.rows, allRows(plan), addedRows, removedRows);
  return {
    ...common(plan),
    isFull: true,
    remakesTable: false,
    replacesTable: false,
    addedChains: chains.filter(({ name }) => !held.chains.has(name)),
    replacedChains: chains.filter(({ name }) => held.chains.has(name)),
    emptiedChains: strayChains,
    removedChains: plan.facts.releasesChainsAtOnce ? strayChains : [],
    addedSets: sets.filter(({ name }) => !held.sets.has(name)),
    removedSets: [...held.sets].filter((name) => !wantedSets.has(name)),
    addedRows,
    removedRows,
    affinity: plan.index.affinity(),
  };
}

function common({ facts, fixed }: NftablesPlan): Pick<NftablesChange, 'table' | 'comment' | 'rowSets'> {
  return {
    table: { family: facts.family, name: TABLE_NAME },
    comment: tableComment(facts.hasCounters),
    rowSets: fixed.sets,
  };
}

interface FixedChange {
  readonly addedChains: readonly ChainPlan[];
  readonly replacedChains: readonly ChainPlan[];
  readonly addedSets: readonly NftSet[];
  readonly removedSets: readonly NftSet[];
  readonly addedRows: readonly Row[];
  readonly removedRows: readonly Row[];
}

const NO_FIXED_CHANGE: FixedChange = {
  addedChains: [],
  replacedChains: [],
  addedSets: [],
  removedSets: [],
  addedRows: [],
  removedRows: [],
};

/** Fixed chains always are the same ones; their rules, and the set of node-port addresses, follow the configuration. */
function diffFixed(before: FixedPart, after: FixedPart): FixedChange {
  const addedRows: Row[] = [];
  const removedRows: Row[] = [];
  diffRows(before.rows, after.rows, addedRows, removedRows);
  const lacks = (sets: readonly NftSet[], name: string): boolean => !sets.some((set) => set.name === name);
  return {
    addedChains: [],
    replacedChains: after.chains.filter((chain, i) => !isDeepStrictEqual(chain, before.chains[i])),
    addedSets: after.sets.filter(({ name }) => lacks(before.sets, name)),
    removedSets: before.sets.filter(({ name }) => lacks(after.sets, name)),
    addedRows,
    removedRows,
  };
}

/** What the kernel is asked to do at once, in order. A packet that is under way runs chains as they were when it met the first, but
 *  looks at rows as they are: a row that led to a chain of the same transaction would lead it to an empty one. So chains come first. */
export function transactionsOf(change: NftablesChange): NftOperation[][] {
  const made = makings(change);
  const rest = replacements(change);
  if (change.remakesTable) return [[...remakings(change), ...made, ...rest]];
  // To name a table that somebody has put to sleep wakes it.
  const woken: NftOperation[] = change.isFull ? [{ op: 'add-table', comment: change.comment }] : [];
  return [made, [...woken, ...rest]].filter((operations) => operations.length > 0);
}

/** The same, in a table of another name. */
export function inTable(change: NftablesChange, name: string): NftablesChange {
  return { ...change, table: { ...change.table, name } };
}

/** The first operation makes the deletion right where there is no table. */
function remakings({ comment }: NftablesChange): NftOperation[] {
  return [{ op: 'add-table', comment }, { op: 'delete-table' }, { op: 'add-table', comment }];
}

function makings(change: NftablesChange): NftOperation[] {
  return [
    ...change.addedChains.map(({ rules: _, ...chain }) => ({ op: 'add-chain', chain }) as const),
    ...change.addedSets.map((set) => ({ op: 'add-set', set }) as const),
    ...rulesOf(change, change.addedChains),
  ];
}

function replacements(change: NftablesChange): NftOperation[] {
  const isLingering = lingering(change);
  return [
    ...removals(change, (row) => !isLingering(row)),
    ...change.replacedChains.map(({ name }) => ({ op: 'flush-chain', chain: name }) as const),
    ...change.emptiedChains.map((name) => ({ op: 'flush-chain', chain: name }) as const),
    ...rulesOf(change, change.replacedChains),
    ...bySet(change, change.addedRows, (set, rows) => ({ op: 'add-elements', set, elements: rows })),
    ...change.removedSets.map((set) => ({ op: 'delete-set', set }) as const),
    ...change.removedChains.map((chain) => ({ op: 'delete-chain', chain }) as const),
  ];
}

function rulesOf({ table }: NftablesChange, chains: readonly ChainPlan[]): NftOperation[] {
  return chains.flatMap(({ name, rules }) =>
    rules.map((rule) => ({ op: 'add-rule', rule: ruleOf(table, name, rule) }) as const),
  );
}

/** Endpoints that nothing leads to any more, which are to be deleted later. A packet looks for the number of endpoints, then for
 *  one of them, and on its way out for whether that one is itself; a transaction may come between the looks, and who was drawn must
 *  still be there. */
export function lingeringOf(change: NftablesChange): { readonly set: NftSet; readonly key: string }[] {
  const sets = new Map(change.rowSets.map((set) => [set.name, set]));
  return change.removedRows.filter(lingering(change)).map(({ set, key }) => ({ set: sets.get(set)!, key }));
}

/** A row that is written anew is replaced at once, and with a table that is made anew everything goes. */
function lingering({ remakesTable, addedRows }: NftablesChange): (row: Row) => boolean {
  const rewritten = new Set(addedRows.filter(isEndpointRow).map(({ set, key }) => `${set} ${key}`));
  return (row) => !remakesTable && isEndpointRow(row) && !rewritten.has(`${row.set} ${row.key}`);
}

function isEndpointRow({ set }: Row): boolean {
  return ENDPOINT_SETS.has(set);
}

function removals(change: NftablesChange, isMeant: (row: Row) => boolean): NftOperation[] {
  return bySet(change, change.removedRows.filter(isMeant), (set, rows) => ({
    op: 'delete-elements',
    set,
    keys: rows.map(({ key }) => key),
  }));
}

function bySet(
  { rowSets, removedSets }: NftablesChange,
  rows: readonly Row[],
  operation: (set: NftSet, rows: readonly Row[]) => NftOperation,
): NftOperation[] {
  const sets = new Map(rowSets.map((set) => [set.name, set]));
  return [...Map.groupBy(rows, ({ set }) => set)]
    .filter(([name]) => !removedSets.includes(name))
    .map(([name, ofSet]) => operation(sets.get(name)!, ofSet));
}
