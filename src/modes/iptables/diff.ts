// In: what the kernel holds, and the plan.  Out: the input of iptables-restore that leads from one to the other.
// After the plan before, only the chains and rules that differ are written; after a reading of the kernel, everything is.
import type { FixedPart } from './fixed.ts';
import { JUMPS, type Table } from './jumps.ts';
import { isServiceChain } from './names.ts';
import type { IptablesPlan, ServicePart } from './plan.ts';
import { CANARY_CHAIN, chainLine, fullText, ownChainBatches } from './print.ts';
import type { PortRules } from './rules.ts';

/** What can be told of the kernel's tables from iptables-save: enough to know what is missing and what is stale. */
export interface KernelState {
  readonly kind: 'read';
  readonly chains: Readonly<Record<Table, ReadonlySet<string>>>;
  /** The jumps that stand, as indexes into JUMPS. */
  readonly jumps: ReadonlySet<number>;
}

export type Held = KernelState | IptablesPlan;

export interface IptablesChange {
  readonly isFull: boolean;
  /** What is loaded first, each by itself: the own chains of many services. */
  readonly ahead: Iterable<readonly string[]>;
  /** Lines for iptables-restore --noflush; none if there is nothing to do. */
  readonly lines: readonly string[];
  /** Rules written, for the metric that counts them. */
  readonly rulesWritten: { readonly filter: number; readonly nat: number };
}

export function diff(held: Held, plan: IptablesPlan): IptablesChange {
  if ('kind' in held) return fullChange(held, plan);
  if (held.generation !== plan.generation - 1) throw new Error('the plan was not made from the plan that is held');
  return partialChange(plan);
}

function fullChange(held: KernelState, plan: IptablesPlan): IptablesChange {
  const wanted = new Set(allParts(plan).flatMap(({ natChains }) => natChains));
  const absent = (table: Table, chains: readonly string[]): string[] =>
    chains.filter((chain) => !held.chains[table].has(chain));
  const { servicesPerBatch } = plan.facts;
  const isBatched = servicesPerBatch !== undefined && plan.services.size > servicesPerBatch;
  const lines = fullText(plan, {
    hasOwnChains: isBatched,
    stale: [...held.chains.nat].filter((chain) => isServiceChain(chain) && !wanted.has(chain)),
    missing: {
      mangle: absent('mangle', [CANARY_CHAIN]),
      filter: absent('filter', [CANARY_CHAIN, 'KUBE-FIREWALL']),
      nat: absent('nat', [CANARY_CHAIN]),
    },
    jumps: (table) =>
      JUMPS.flatMap(({ table: of, from, rule }, i) =>
        of !== table || held.jumps.has(i) ? [] : [`-I ${from} ${rule}`],
      ),
  });
  const ahead = isBatched ? ownChainBatches(plan, servicesPerBatch) : [];
  return { isFull: true, ahead, lines, rulesWritten: plan.ruleCounts };
}

function partialChange(plan: IptablesPlan): IptablesChange {
  const filter = new TableChange();
  const nat = new TableChange();
  if (plan.replacedFixed) changeFixed(filter, nat, plan.replacedFixed, plan.fixed);
  // Of many services at once, the own chains come ahead in batches, as in a full write.
  const { servicesPerBatch = Number.POSITIVE_INFINITY } = plan.facts;
  const isBatched = plan.replaced.size > servicesPerBatch;
  const batches: TableChange[] = [];
  let count = 0;
  for (const [name, before] of plan.replaced) {
    if (isBatched && count++ % servicesPerBatch === 0) batches.push(new TableChange());
    changeService(filter, nat, batches.at(-1) ?? nat, before ?? [], plan.services.get(name) ?? []);
  }
  return {
    isFull: false,
    ahead: batches.map((batch) => batch.lines('nat')).filter((lines) => lines.length > 0),
    lines: [...filter.lines('filter'), ...nat.lines('nat')],
    rulesWritten: {
      filter: filter.rules.length,
      nat: [nat, ...batches].reduce((sum, { rules }) => sum + rules.length, 0),
    },
  };
}

/** The change of one table, in an order that is valid throughout: nothing is referred to before it exists or after it went. */
class TableChange {
  readonly chains: string[] = [];
  readonly deletions: string[] = [];
  readonly rules: string[] = [];
  readonly goneChains: string[] = [];

  lines(table: Table): string[] {
    const { chains, deletions, rules, goneChains } = this;
    if (chains.length + deletions.length + rules.length + goneChains.length === 0) return [];
    const gone = goneChains.map((chain) => `-X ${chain}`);
    return [`*${table}`, ...[...chains, ...goneChains].map(chainLine), ...deletions, ...rules, ...gone, 'COMMIT'];
  }
}

/** `own`: where the service's own chains are written; they go with `nat` in any case, once nothing leads to them. */
function changeService(
  filter: TableChange,
  nat: TableChange,
  own: TableChange,
  before: ServicePart,
  after: ServicePart,
): void {
  changeShared(
    filter,
    before.flatMap((rules) => rules.filter),
    after.flatMap((rules) => rules.filter),
    'append',
  );
  // To the front: the end of KUBE-SERVICES belongs to the node ports.
  changeShared(
    nat,
    before.flatMap((rules) => rules.natDispatch),
    after.flatMap((rules) => rules.natDispatch),
    'prepend',
  );
  changeOwn(own, nat, byChain(before), byChain(after));
}

/** Where the rules of a service in a shared chain differ at all, they are taken out and put in whole, which keeps their order. */
function changeShared(
  table: TableChange,
  before: readonly string[],
  after: readonly string[],
  where: 'append' | 'prepend',
): void {
  const old = groupByChain(before);
  const wanted = groupByChain(after);
  for (const chain of new Set([...old.keys(), ...wanted.keys()])) {
    const oldRules = old.get(chain) ?? [];
    const newRules = wanted.get(chain) ?? [];
    if (sameRules(oldRules, newRules)) continue;
    addAll(
      table.deletions,
      oldRules.map((rule) => `-D${rule.slice(2)}`),
    );
    addAll(table.rules, where === 'append' ? newRules : newRules.map((rule) => `-I${rule.slice(2)}`).reverse());
  }
}

function changeOwn(
  table: TableChange,
  last: TableChange,
  before: ReadonlyMap<string, readonly string[]>,
  after: ReadonlyMap<string, readonly string[]>,
): void {
  for (const [chain, rules] of after) {
    const old = before.get(chain);
    if (old && sameRules(old, rules)) continue;
    table.chains.push(chain);
    addAll(table.rules, rules);
  }
  for (const chain of before.keys()) if (!after.has(chain)) last.goneChains.push(chain);
}

function changeFixed(filter: TableChange, nat: TableChange, before: FixedPart, after: FixedPart): void {
  const filterRules = (part: FixedPart): string[] => [...part.filterHead, ...part.filterTail];
  changeWhole(filter, groupByChain(filterRules(before)), groupByChain(filterRules(after)));
  changeWhole(nat, groupByChain(before.natHead), groupByChain(after.natHead));
  if (sameRules(before.natTail, after.natTail)) return;
  nat.deletions.push(...before.natTail.map((rule) => `-D${rule.slice(2)}`));
  nat.rules.push(...after.natTail);
}

/** Chains of the fixed part that no service writes into: rewritten if anything in them differs, emptied if nothing is left. */
function changeWhole(
  table: TableChange,
  before: ReadonlyMap<string, readonly string[]>,
  after: ReadonlyMap<string, readonly string[]>,
): void {
  for (const chain of new Set([...before.keys(), ...after.keys()])) {
    const rules = after.get(chain) ?? [];
    if (sameRules(before.get(chain) ?? [], rules)) continue;
    table.chains.push(chain);
    addAll(table.rules, rules);
  }
}

function byChain(part: ServicePart): ReadonlyMap<string, readonly string[]> {
  const rules = groupByChain(part.flatMap(({ natRules }) => natRules));
  return new Map(part.flatMap(({ natChains }) => natChains.map((chain) => [chain, rules.get(chain) ?? []] as const)));
}

/** Rules start with `-A CHAIN `. */
function groupByChain(rules: readonly string[]): ReadonlyMap<string, readonly string[]> {
  return Map.groupBy(rules, (rule) => rule.slice(3, rule.indexOf(' ', 3)));
}

/** Not spread into a call: a service may have more rules than a call arguments. */
function addAll(into: string[], rules: readonly string[]): void {
  for (const rule of rules) into.push(rule);
}

function sameRules(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((rule, i) => rule === b[i]);
}

function allParts(plan: IptablesPlan): readonly PortRules[] {
  return [...plan.services.values()].flat();
}
