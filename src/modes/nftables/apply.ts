// The effects of nftables mode: reading the table, sending a change as one transaction, and watching for foreign hands.
import { isNotFound, KernelError } from '../../kernel/error.ts';
import type { Nftables } from '../../kernel/nftables.ts';
import type { NftEvent, NftHeldSet, NftSet, NftTable } from '../../kernel/nftables-objects.ts';
import { describesSet } from '../../kernel/nftables-read.ts';
import type { Family } from '../../lib/ip.ts';
import type { AffinityPlan } from './affinity.ts';
import { afterthoughtsOf, type KernelState, type NftablesChange, operationsOf } from './diff.ts';
import { AFFINITY_PREFIX, TABLE_NAME, tableComment } from './names.ts';
import type { Row } from './rules.ts';
import { affinityMap, fixedSets } from './sets.ts';

/** One family's table in the kernel. */
export class NftablesDriver {
  readonly nftables: Nftables;
  readonly table: NftTable;
  readonly hasCounters: boolean;
  /** The last attempt to mend the table was refused, so that someone must have changed what cannot be mended: it is remade. */
  isBeyondRepair = false;

  constructor(nftables: Nftables, family: Family, hasCounters: boolean) {
    this.nftables = nftables;
    this.table = { family, name: TABLE_NAME };
    this.hasCounters = hasCounters;
  }

  /** Reports what others do to the table. */
  watch(listener: (event: NftEvent) => void): ReturnType<Nftables['watch']> {
    return this.nftables.watch(this.table, listener);
  }
}

export async function read(driver: NftablesDriver): Promise<KernelState> {
  const { nftables, table, hasCounters } = driver;
  try {
    const held = await nftables.getTable(table);
    if (driver.isBeyondRepair || held?.comment !== tableComment(hasCounters)) return NOT_OURS;
    const chains = await nftables.listChains(table);
    const sets = await nftables.listSets(table);
    if (!sets.every((set) => isAsWeMakeThem(driver, set))) return NOT_OURS;
    const names = new Set(sets.map(({ name }) => name));
    const rows: Row[] = [];
    for (const set of ourSets(driver)) {
      if (names.has(set.name)) for (const row of await readRows(driver, set)) rows.push(row);
    }
    return {
      kind: 'read',
      isOurs: true,
      chains: new Map(chains.map(({ name, base }) => [name, base])),
      sets: names,
      rows,
    };
  } catch (error) {
    if (isNotFound(error)) return NOT_OURS; // it went while it was read
    throw error;
  }
}

const NOT_OURS: KernelState = { kind: 'read', isOurs: false, chains: new Map(), sets: new Set(), rows: [] };

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
    await driver.nftables.commit(change.table, operationsOf(change));
    const afterthoughts = afterthoughtsOf(change);
    if (afterthoughts.length > 0) await driver.nftables.commit(change.table, afterthoughts);
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
