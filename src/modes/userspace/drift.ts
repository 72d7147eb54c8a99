// In: what iptables-save prints, and the plan that was written.  Out: what somebody else has taken away or added, if anything.
// Only counted, not compared: iptables prints rules in a form of its own.
import { heldChains, JUMPS, TABLE_CHAINS, type Table } from './chains.ts';
import type { UserspacePlan } from './plan.ts';

/** Undefined if everything stands. */
export function foundChanged(save: string, plan: UserspacePlan): string | undefined {
  const { chains, jumps } = heldChains(save);
  const lost = JUMPS.find((_, i) => !jumps.has(i));
  const wanted = ruleCounts([...plan.services.values()].flatMap(({ rules }) => rules.map(({ chain }) => chain)));
  const found = ruleCounts(Array.from(save.matchAll(/^-A (KUBE-\S+)/gm), ([, chain]) => chain!));
  for (const [table, names] of Object.entries(TABLE_CHAINS) as [Table, readonly string[]][]) {
    for (const chain of names) {
      if (!chains.has(`${table} ${chain}`)) return `chain ${chain} is gone`;
      const [has, should] = [found.get(chain) ?? 0, wanted.get(chain) ?? 0];
      if (has !== should) return `chain ${chain} has ${has} rules instead of ${should}`;
    }
  }
  return lost && `${lost.from} no longer leads to ${lost.rule.slice(lost.rule.indexOf('KUBE-'))}`;
}

function ruleCounts(chains: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const chain of chains) counts.set(chain, (counts.get(chain) ?? 0) + 1);
  return counts;
}
