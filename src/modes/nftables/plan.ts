// In: the NodeModel.  Out: the whole table, as the fixed rules and what services add to them.
// Only changed services are looked at; what changes with them comes along, so that diff.ts sees nothing else either.
import { isDeepStrictEqual } from 'node:util';
import type { NftSet } from '../../kernel/nftables-objects.ts';
import type { NodeModel, ServiceModel } from '../../model/model.ts';
import type { NftablesFacts } from './facts.ts';
import { type FixedPart, fixedPart } from './fixed.ts';
import type { ChainPlan, Row } from './rules.ts';
import { type Replacement, ServiceIndex } from './service-index.ts';

export interface NftablesPlan {
  readonly facts: NftablesFacts;
  readonly fixed: FixedPart;
  /** By `namespace/name`, as they were planned. */
  readonly services: ReadonlyMap<string, ServiceModel>;
  readonly index: ServiceIndex;
  /** What changed since the plan before; to be asked for before the next plan is made. */
  readonly replacement: Replacement;
  /** The fixed part before, if it was another. */
  readonly replacedFixed: FixedPart | undefined;
  /** Chains that nothing leads to any more, and that can go now; see facts.releasesChainsAtOnce. */
  readonly discarded: readonly string[];
  /** Counts up from plan to plan: a diff is only right against the plan directly before. */
  readonly generation: number;
}

export function plan(model: NodeModel, facts: NftablesFacts, previous?: NftablesPlan): NftablesPlan {
  const fixed = fixedPart(facts, model.serviceCIDRs);
  const services = (previous?.services ?? new Map()) as Map<string, ServiceModel>;
  const index = previous?.index ?? new ServiceIndex(model.family);
  const names = model.isFresh ? new Set([...services.keys(), ...model.services.keys()]) : model.changed;
  const changes: [ServiceModel | undefined, ServiceModel | undefined][] = [];
  for (const name of names) {
    const before = services.get(name);
    const after = model.services.get(name);
    if (before === after) continue;
    changes.push([before, after]);
    if (after) services.set(name, after);
    else services.delete(name);
  }
  const replacement = index.replace(changes);
  return {
    facts,
    fixed,
    services,
    index,
    replacement,
    replacedFixed: previous && !isDeepStrictEqual(previous.fixed, fixed) ? previous.fixed : undefined,
    discarded: facts.releasesChainsAtOnce ? replacement.removedChains : discardable(previous, index),
    generation: (previous?.generation ?? 0) + 1,
  };
}

/** Chains that the plan before let go, unless they are needed again. */
function discardable(previous: NftablesPlan | undefined, index: ServiceIndex): string[] {
  const needed = new Set(index.chains().map(({ name }) => name));
  return (previous?.replacement.removedChains ?? []).filter((name) => !needed.has(name));
}

export function allSets({ fixed, index }: NftablesPlan): NftSet[] {
  return [...fixed.sets, ...index.affinity().map(({ set }) => set)];
}

export function allChains({ fixed, index }: NftablesPlan): ChainPlan[] {
  return [...fixed.chains, ...index.chains()];
}

export function* allRows({ fixed, index }: NftablesPlan): Generator<Row> {
  yield* fixed.rows;
  yield* index.rows();
}
