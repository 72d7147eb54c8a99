// The effects of nftables mode: reading the table, sending a change as one transaction, and watching for foreign hands.
import { isNotFound, KernelError } from '../../kernel/error.ts';
import type { Nftables } from '../../kernel/nftables.ts';
import type { NftEvent, NftSet, NftTable } from '../../kernel/nftables-objects.ts';
import { typeId } from '../../kernel/nftables-values.ts';
import type { Family } from '../../lib/ip.ts';
import type { AffinityPlan } from './affinity.ts';
import { type KernelState, type NftablesChange, operationsOf } from './diff.ts';
import { TABLE_NAME, tableComment } from './names.ts';
import type { Row } from './rules.ts';
import { fixedSets } from './sets.ts';

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

  watch(listener: (event: NftEvent) => void): { close(): void } {
    return this.nftables.watch(this.table, listener);
  }
}

export async function read(driver: NftablesDriver): Promise<KernelState> {
  const { nftables, table, hasCounters } = driver;
  try {
    const held = await nftables.getTable(table);
    if (driver.isBeyondRepair || held?.comment !== tableComment(hasCounters)) return NOT_OURS;
    const chains = await nftables.listChains(table);
    const heldSets = new Map((await nftables.listSets(table)).map((set) => [set.name, set]));
    const known = fixedSets({ family: table.family, hasCounters, hasNodePortIps: true });
    const sets = known.filter(({ name }) => heldSets.has(name));
    if (sets.some((set) => heldSets.get(set.name)!.keyType !== typeId(set.key))) return NOT_OURS;
    const rows: Row[] = [];
    for (const set of sets) for (const row of await readRows(driver, set)) rows.push(row);
    return {
      kind: 'read',
      isOurs: true,
      chains: new Set(chains.map(({ name }) => name)),
      sets: new Set(heldSets.keys()),
      rows,
    };
  } catch (error) {
    if (isNotFound(error)) return NOT_OURS; // it went while it was read
    throw error;
  }
}

const NOT_OURS: KernelState = { kind: 'read', isOurs: false, chains: new Set(), sets: new Set(), rows: [] };

async function readRows({ nftables, table }: NftablesDriver, set: NftSet): Promise<Row[]> {
  const elements = await nftables.listElements(table, set);
  return elements.map(({ key, value, comment }) => ({
    set: set.name,
    key,
    ...(value !== undefined && { value }),
    ...(comment !== undefined && { comment }),
  }));
}

export async function apply(driver: NftablesDriver, change: NftablesChange): Promise<void> {
  try {
    await driver.nftables.commit(change.table, operationsOf(change));
  } catch (error) {
    driver.isBeyondRepair = change.isFull && error instanceof KernelError;
    throw error;
  }
  driver.isBeyondRepair = false;
  for (const map of change.affinity) await forgetClients(driver, map);
}

/** Clients that were noted with an endpoint that went choose again. Notes end by themselves too, even while they are read. */
async function forgetClients({ nftables, table }: NftablesDriver, { set, ips }: AffinityPlan): Promise<void> {
  const elements = await nftables.listElements(table, set);
  for (const { key, value } of elements) {
    if (value !== undefined && ips.has(value)) continue;
    try {
      await nftables.commit(table, [{ op: 'delete-elements', set, keys: [key] }]);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
