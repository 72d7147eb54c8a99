// In: what stands, and the plan.  Out: which relays start, change and stop, and the lines of rules that differ.
// Rules are written after the relays that they lead to have started, and removed before these stop.

import type { UserspaceFacts } from './facts.ts';
import type { Claim, RelayPlan, ServicePart, UserspacePlan } from './plan.ts';
import type { Rule } from './rules.ts';

/** What iptables-save tells. Rules that stand lead to ports of an earlier process and are worth nothing. */
export interface UserspaceState {
  readonly kind: 'read';
  /** Chains of ours that exist, as `table chain`. */
  readonly chains: ReadonlySet<string>;
  /** The jumps that stand, as indexes into JUMPS. */
  readonly jumps: ReadonlySet<number>;
}

export interface UserspaceChange {
  readonly isFull: boolean;
  /** Undefined if rules need no base. */
  readonly held: UserspaceState | undefined;
  readonly facts: UserspaceFacts;
  /** Relays that are new, or whose backends or affinity differ. */
  readonly relays: readonly RelayPlan[];
  readonly stoppedRelays: readonly string[];
  readonly removedRules: readonly Rule[];
  readonly addedRules: readonly Rule[];
  readonly claims: readonly Claim[];
  readonly releasedClaims: readonly Claim[];
}

export function diff(held: UserspaceState | UserspacePlan, plan: UserspacePlan): UserspaceChange {
  if ('kind' in held) return fullChange(held, plan);
  if (held.generation !== plan.generation - 1) throw new Error('the plan was not made from the plan that is held');
  if (plan.hasOtherFacts) return fullChange(undefined, plan);
  return partialChange(plan);
}

function fullChange(held: UserspaceState | undefined, plan: UserspacePlan): UserspaceChange {
  const parts = [...plan.services.keys()].sort().map((name) => plan.services.get(name)!);
  const relays = parts.flatMap((part) => part.relays);
  const gone = [...plan.replaced.values()].flatMap((part) => part?.relays ?? []).map(({ key }) => key);
  const wanted = new Set(relays.map(({ key }) => key));
  return {
    isFull: true,
    held: held ?? { kind: 'read', chains: new Set(), jumps: new Set(ALL_JUMPS) },
    facts: plan.facts,
    relays,
    stoppedRelays: gone.filter((key) => !wanted.has(key)),
    removedRules: [],
    addedRules: parts.flatMap((part) => part.rules),
    claims: parts.flatMap((part) => part.claims),
    releasedClaims: [...plan.replaced.values()]
      .flatMap((part) => part?.claims ?? [])
      .filter(isNotIn(parts.flatMap((part) => part.claims))),
  };
}

const ALL_JUMPS = [0, 1, 2, 3, 4];

function partialChange(plan: UserspacePlan): UserspaceChange {
  const before: ServicePart[] = [];
  const after: ServicePart[] = [];
  for (const [name, part] of plan.replaced) {
    before.push(part ?? NOTHING);
    after.push(plan.services.get(name) ?? NOTHING);
  }
  const pairs = before.map((part, i) => [part, after[i]!] as const);
  const changed = pairs.filter(([a, b]) => !sameRules(a.rules, b.rules));
  const wanted = new Set(after.flatMap(({ relays }) => relays.map(({ key }) => key)));
  const oldClaims = before.flatMap(({ claims }) => claims);
  const newClaims = after.flatMap(({ claims }) => claims);
  return {
    isFull: false,
    held: undefined,
    facts: plan.facts,
    relays: after.flatMap(({ relays }) => relays),
    stoppedRelays: before.flatMap(({ relays }) => relays.map(({ key }) => key)).filter((key) => !wanted.has(key)),
    removedRules: changed.flatMap(([a]) => a.rules),
    addedRules: changed.flatMap(([, b]) => b.rules),
    claims: newClaims.filter(isNotIn(oldClaims)),
    releasedClaims: oldClaims.filter(isNotIn(newClaims)),
  };
}

const NOTHING: ServicePart = { relays: [], rules: [], claims: [] };

function sameRules(a: readonly Rule[], b: readonly Rule[]): boolean {
  const same = (rule: Rule, i: number): boolean =>
    rule.chain === b[i]!.chain && rule.match === b[i]!.match && rule.relay === b[i]!.relay;
  return a.length === b.length && a.every(same);
}

function isNotIn(claims: readonly Claim[]): (claim: Claim) => boolean {
  const keys = new Set(claims.map(claimKey));
  return (claim) => !keys.has(claimKey(claim));
}

export function claimKey({ ip, port, protocol, owner }: Claim): string {
  return `${ip ?? '*'} ${port} ${protocol} ${owner}`;
}
