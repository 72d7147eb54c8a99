// In: two rulesets.  Out: what one chain of ours, or all, have too much, too little, or in another order.
import type { Chain, Rule, Ruleset } from '../trace/ruleset.ts';
import { besideDrift } from './beside-drift.ts';
import { canonicalRule, withoutChance } from './canonical.ts';
import { rowDrift } from './row-drift.ts';

export type Drift = { readonly table: string; readonly chain: string } & DriftKind;

export type DriftKind =
  | { readonly kind: 'missing-chain' }
  | { readonly kind: 'extra-chain' }
  | { readonly kind: 'missing-rule'; readonly rule: string }
  | { readonly kind: 'extra-rule'; readonly rule: string }
  | { readonly kind: 'wrong-probability'; readonly rule: string; readonly planned: string }
  | { readonly kind: 'wrong-order'; readonly rule: string }
  /** Of a set or map, whose name stands for the chain's. */
  | { readonly kind: 'missing-row' | 'extra-row'; readonly row: string }
  | { readonly kind: 'wrong-row'; readonly row: string; readonly planned: string }
  /** The other kind of iptables has chains of the proxy too. */
  | { readonly kind: 'second-copy'; readonly tables: string };

export interface DriftScope {
  /** Whose contents are the proxy's alone. */
  readonly isOurChain: (name: string) => boolean;
  /** In chains of others: the rules that are the proxy's. */
  readonly isOurRule: (rule: Rule) => boolean;
  /** In chains where services stand side by side their order means nothing. */
  readonly isUnordered: (chain: string) => boolean;
  /** Addresses whose virtual servers are somebody else's, whatever they look like. */
  readonly isExcluded?: (ip: string) => boolean;
}

export function driftOf(planned: Ruleset, held: Ruleset, scope: DriftScope): readonly Drift[] {
  const ofTables = planned.tables.flatMap(({ name, chains, sets, origin }) => {
    const own = held.tables.find((table) => table.name === name && table.origin === origin);
    const others = held.tables.filter((table) => table.name === name && table !== own);
    const isOurs = (chain: string): boolean => scope.isOurChain(chain);
    const extra = [...(own?.chains.keys() ?? [])].filter((chain) => isOurs(chain) && !chains.has(chain));
    const copies = others.flatMap((table) =>
      [...table.chains.keys()].filter(isOurs).map((chain) => ({ chain, table })),
    );
    return [
      ...[...chains.values()].flatMap((chain) => chainDrift(chain, own?.chains.get(chain.name), scope)),
      ...[...sets.values()].flatMap((set) => rowDrift(name, set, own?.sets.get(set.name))),
      ...extra.map((chain): Drift => ({ table: name, chain, kind: 'extra-chain' })),
      ...copies.map(({ chain, table }): Drift => ({ table: name, chain, kind: 'second-copy', tables: table.origin })),
    ];
  });
  return [...ofTables, ...besideDrift(planned, held, scope)];
}

export function chainDrift(planned: Chain, held: Chain | undefined, scope: DriftScope): readonly Drift[] {
  const at = { table: planned.table, chain: planned.name };
  if (!held) return planned.base ? missingRules(planned.rules, at) : [{ ...at, kind: 'missing-chain' }];
  const theirs = scope.isOurChain(planned.name) ? held.rules : held.rules.filter(scope.isOurRule);
  const missing = without(planned.rules, theirs);
  const extra = without(theirs, planned.rules);
  const wrong = missing.flatMap((rule): Drift[] => {
    const twin = extra.find((other) => withoutChance(other) === withoutChance(rule));
    if (!twin) return [];
    extra.splice(extra.indexOf(twin), 1);
    return [{ ...at, kind: 'wrong-probability', rule: twin.text, planned: rule.text }];
  });
  const stillMissing = missing.filter(
    (rule) => !wrong.some((drift) => 'planned' in drift && drift.planned === rule.text),
  );
  const drifts: Drift[] = [
    ...wrong,
    ...missingRules(stillMissing, at),
    ...extra.map((rule): Drift => ({ ...at, kind: 'extra-rule', rule: rule.text })),
  ];
  if (drifts.length > 0 || scope.isUnordered(planned.name)) return drifts;
  const moved = theirs.find((rule, i) => canonicalRule(rule) !== canonicalRule(planned.rules[i]!));
  return moved && scope.isOurChain(planned.name) ? [{ ...at, kind: 'wrong-order', rule: moved.text }] : [];
}

function missingRules(rules: readonly Rule[], at: { readonly table: string; readonly chain: string }): Drift[] {
  return rules.map((rule) => ({ ...at, kind: 'missing-rule', rule: rule.text }));
}

/** The rules of one list that the other lacks, each as often as it is lacking. */
function without(rules: readonly Rule[], others: readonly Rule[]): Rule[] {
  const counts = new Map<string, number>();
  for (const rule of others) counts.set(canonicalRule(rule), (counts.get(canonicalRule(rule)) ?? 0) + 1);
  return rules.filter((rule) => {
    const left = counts.get(canonicalRule(rule)) ?? 0;
    counts.set(canonicalRule(rule), left - 1);
    return left <= 0;
  });
}
