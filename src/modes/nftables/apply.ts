// The effects of nftables mode: reading the table, sending a change as one transaction, and watching for foreign hands.
import { isNotFound, isTooLong, KernelError } from '../../kernel/error.ts';
import type { Nftables } from '../../kernel/nftables.ts';
import type { NftEvent, NftHeldSet, NftOperation, NftSet, NftTable } from '../../kernel/nftables-objects.ts';
import { describesSet } from '../../kernel/nftables-read.ts';
import { inMessages } from '../../kernel/nftables-steps.ts';
import type { Family } from '../../lib/ip.ts';
import type { AffinityPlan } from './affinity.ts';
import { inTable, type KernelState, lingeringOf, type NftablesChange, transactionsOf } from './diff.ts';
import { AFFINITY_PREFIX, STAND_IN_NAME, TABLE_NAME, tableComment } from './names.ts';
import type { Row } from './rules.ts';
import { affinityMap, fixedSets } from './sets.ts';

/** One family's table in the kernel. */
export class NftablesDriver {
  readonly nftables: Nftables;
  readonly table: NftTable;
  readonly hasCounters: boolean;
  /** The last attempt to mend the table was refused, so that someone must have changed what cannot be mended: it is remade. */
  isBeyondRepair = false;

  /** How long endpoints that nothing leads to any more are kept; 0: until the transaction after the one that left them. */
  readonly lingerMs: number;
  readonly #lingering = new Map<string, Lingering>();
  #last: Promise<void> = Promise.resolve();

  constructor(nftables: Nftables, family: Family, hasCounters: boolean, lingerMs = 0) {
    this.nftables = nftables;
    this.table = { family, name: TABLE_NAME };
    this.hasCounters = hasCounters;
    this.lingerMs = lingerMs;
  }

  /** One transaction, or two; with the last goes what has lingered long enough, and what would be in its way. */
  commit(change: NftablesChange): Promise<void> {
    return this.#inTurn(async () => {
      if (change.isFull) this.#lingering.clear(); // it sets out from a reading, which has seen them
      const written = new Set(change.addedRows.map(({ set, key }) => `${set} ${key}`));
      const due = this.#due((name) => written.has(name));
      const transactions = transactionsOf(change);
      const last = transactions.pop() ?? [];
      transactions.push([...deletions(due), ...last]);
      try {
        if (change.replacesTable) await this.#standIn(change);
        await this.#commitAll(this.table, transactions);
      } finally {
        // Also one that a process left which was killed.
        if (change.isFull) await deleteTable(this.nftables, { ...this.table, name: STAND_IN_NAME });
      }
      for (const [name] of due) this.#lingering.delete(name);
      for (const row of lingeringOf(change))
        this.#lingering.set(`${row.set.name} ${row.key}`, { ...row, since: performance.now() });
      if (this.lingerMs === 0) await this.#deleteDue();
    });
  }

  /** If the kernel refuses one of them, nothing has changed. */
  async #commitAll(table: NftTable, transactions: readonly NftOperation[][]): Promise<void> {
    try {
      if (transactions.length > 1) await this.nftables.check(table, transactions.flat());
    } catch (error) {
      if (!isTooLong(error)) throw error;
    }
    for (const operations of transactions) await this.#commitInParts(table, operations);
  }

  /** At once where the kernel takes so much at once. Of root in a user namespace it does not take more than net.core.wmem_max: there
   *  a big change comes in parts. If one of them is refused, the others are known from the next reading. */
  async #commitInParts(table: NftTable, operations: readonly NftOperation[]): Promise<void> {
    try {
      await this.nftables.commit(table, operations);
    } catch (error) {
      const halves = isTooLong(error) ? halvesOf(operations) : undefined;
      if (!halves) throw error;
      for (const half of halves) await this.#commitInParts(table, half);
    }
  }

  /** A second table, which serves packets while the first is exchanged. The kernel has the old table's chains and the new one's
   *  side by side for a moment, each empty to packets of the other generation; a packet that has met one of them when the generation
   *  changes would find both empty. */
  async #standIn(change: NftablesChange): Promise<void> {
    const standIn = inTable(change, STAND_IN_NAME);
    await this.#commitAll(standIn.table, transactionsOf(standIn));
  }

  /** Deletes what has lingered long enough; to be called now and then. */
  sweep(): Promise<void> {
    return this.#inTurn(() => this.#deleteDue());
  }

  async #deleteDue(): Promise<void> {
    const due = this.#due(() => false);
    if (due.length === 0) return;
    await this.#commitInParts(this.table, deletions(due));
    for (const [name] of due) this.#lingering.delete(name);
  }

  #due(isInTheWay: (name: string) => boolean): [string, Lingering][] {
    const before = performance.now() - this.lingerMs;
    return [...this.#lingering].filter(([name, { since }]) => since <= before || isInTheWay(name));
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work, work);
    this.#last = done.catch(() => {});
    return done;
  }

  /** Reports what others do to the table. */
  watch(listener: (event: NftEvent) => void): ReturnType<Nftables['watch']> {
    return this.nftables.watch(this.table, listener);
  }
}

/** If there is one. */
export async function deleteTable(nftables: Nftables, table: NftTable): Promise<void> {
  try {
    if (await nftables.getTable(table)) await nftables.commit(table, [{ op: 'delete-table' }]);
  } catch (error) {
    if (!isNotFound(error)) throw error; // it went while we looked
  }
}

interface Lingering {
  readonly set: NftSet;
  readonly key: string;
  readonly since: number;
}

function deletions(rows: readonly [string, Lingering][]): NftOperation[] {
  const bySet = Map.groupBy(rows, ([, { set }]) => set.name);
  return [...bySet.values()].map((ofSet) => ({
    op: 'delete-elements',
    set: ofSet[0]![1].set,
    keys: ofSet.map(([, { key }]) => key),
  }));
}

/** In the same order. Undefined if there is too little to be parted. */
function halvesOf(operations: readonly NftOperation[]): readonly [NftOperation[], NftOperation[]] | undefined {
  const small = operations.flatMap(inMessages);
  const middle = small.length >> 1;
  return middle > 0 ? [small.slice(0, middle), small.slice(middle)] : undefined;
}

export async function read(driver: NftablesDriver): Promise<KernelState> {
  const { nftables, table, hasCounters } = driver;
  try {
    const held = await nftables.getTable(table);
    if (!held) return NO_TABLE;
    if (driver.isBeyondRepair || held.comment !== tableComment(hasCounters)) return FOREIGN;
    const chains = await nftables.listChains(table);
    const sets = await nftables.listSets(table);
    if (!sets.every((set) => isAsWeMakeThem(driver, set))) return FOREIGN;
    const names = new Set(sets.map(({ name }) => name));
    const rows: Row[] = [];
    for (const set of ourSets(driver)) {
      if (names.has(set.name)) for (const row of await readRows(driver, set)) rows.push(row);
    }
    return {
      kind: 'read',
      table: 'ours',
      chains: new Map(chains.map(({ name, base }) => [name, base])),
      sets: names,
      rows,
    };
  } catch (error) {
    if (isNotFound(error)) return NO_TABLE; // it went while it was read
    throw error;
  }
}

const NO_TABLE: KernelState = { kind: 'read', table: 'none', chains: new Map(), sets: new Set(), rows: [] };
const FOREIGN: KernelState = { ...NO_TABLE, table: 'foreign' };

function ourSets({ table: { family }, hasCounters }: NftablesDriver): NftSet[] {
  return fixedSets({ family, hasCounters, hasNodePortIps: true });
}

/** A set that has one of our names must be what we would make; others' sets can be taken away. */
function isAsWeMakeThem(driver: NftablesDriver, held: NftHeldSet): boolean {
  const isAffinity = held.name.startsWith(AFFINITY_PREFIX);
  const set = isAffinity
    ? affinityMap(driver.table.family, held.name)
    : ourSets(driver).find(({ name }) => name === held.name);
  return !set || describesSet(held, set);
}

async function readRows({ nftables, table }: NftablesDriver, set: NftSet): Promise<Row[]> {
  const elements = await nftables.listElements(table, set, false);
  return elements.map((element) => ({ set: set.name, ...element }));
}

export async function apply(driver: NftablesDriver, change: NftablesChange): Promise<void> {
  try {
    await driver.commit(change);
  } catch (error) {
    driver.isBeyondRepair = change.isFull && error instanceof KernelError;
    throw error;
  }
  driver.isBeyondRepair = false;
  for (const map of change.affinity) await forgetClients(driver, map);
}

/** Clients that were noted with an endpoint that went choose again. Notes also end by themselves, and one that ends between the
 *  reading and the deletion has the kernel refuse it all; after a few such readings they are deleted one by one. */
async function forgetClients({ nftables, table }: NftablesDriver, { set, ips }: AffinityPlan): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const notes = await nftables.listElements(table, set);
    const keys = notes.filter(({ value }) => value === undefined || !ips.has(value)).map(({ key }) => key);
    if (keys.length === 0) return;
    const parts = attempt <= FORGET_AT_ONCE ? [keys] : keys.map((key) => [key]);
    try {
      for (const part of parts) await nftables.commit(table, [{ op: 'delete-elements', set, keys: part }]);
      return;
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

const FORGET_AT_ONCE = 3;
