// In: what a packet's fate should be, its ways through planned rules, and its ways through those that are there.
// Out: why the two differ, told by the first rule that is to blame.
import { hostPort } from '../../lib/ip.ts';
import type { Origins } from '../trace/origin.ts';
import type { Hop, Outcome, Packet } from '../trace/packet.ts';
import type { Chain, Ruleset } from '../trace/ruleset.ts';
import { chainDrift, type Drift, type DriftScope } from './drift.ts';
import { classOf, type Fate } from './outcome-class.ts';
import { rowToBlame } from './row-cause.ts';

export type CauseKind =
  | 'foreign-rule' // somebody else's rule decides, or changes the packet
  | 'foreign-policy' // a base chain drops what no rule accepts
  | 'other-iptables' // the other kind of iptables has rules too
  | 'missing-chain'
  | 'emptied-chain'
  | 'missing-rule'
  | 'extra-rule'
  | 'missing-row'
  | 'extra-row'
  | 'wrong-row'
  | 'stale-endpoint' // a rule leads to an address that is no endpoint (any more)
  | 'wrong-probability'
  | 'wrong-order'
  | 'dead-relay' // the process that should take connections does not run
  | 'contested-address' // another Service has the address
  | 'plan' // the planned rules themselves do something else than the objects mean
  | 'unexplained';

export interface Cause {
  readonly kind: CauseKind;
  readonly table?: string;
  readonly chain?: string;
  /** The rule or row as it is there, or as it should be if it is missing. */
  readonly rule?: string;
  /** `shop/cart:http`: who has the address. */
  readonly service?: string;
}

export interface Evidence {
  readonly expected: Fate;
  readonly planned: readonly Outcome[];
  readonly held: readonly Outcome[];
  readonly plannedRules: Ruleset;
  readonly heldRules: Ruleset;
  readonly origins: Origins;
  readonly scope: DriftScope;
  readonly isBackend: (address: string) => boolean;
  readonly asked: Packet;
}

export function causeOf(evidence: Evidence): Cause {
  const { held, expected } = evidence;
  const wanted = new Set([...expected.fresh.keys(), ...expected.remembered]);
  const wrong = held.filter((outcome) => !wanted.has(classOf(outcome)));
  const suspects = wrong.length > 0 ? wrong : held;
  const foreign = (isToBlame: (hop: Hop) => boolean): Cause | undefined =>
    suspects.map((outcome) => foreignCause(outcome, evidence, isToBlame)).find((cause) => cause !== undefined);
  // Marks of others are common and mostly harmless, so they are the last to be suspected.
  return (
    foreign(decides) ??
    driftCause(evidence) ??
    rowCause(evidence) ??
    relayCause(evidence) ??
    foreign(marks) ?? { kind: 'unexplained' }
  );
}

function foreignCause(
  { hops, end }: Outcome,
  { origins }: Evidence,
  isToBlame: (hop: Hop) => boolean,
): Cause | undefined {
  const isRefused = end.kind === 'dropped' || end.kind === 'rejected' || end.kind === 'unjudged';
  const isSuspect = (hop: Hop): boolean => isToBlame(hop) || (isRefused && hop === hops.at(-1));
  const other = hops.find((hop) => hop.chain.origin.startsWith('iptables-') && isSuspect(hop));
  if (other) return { kind: 'other-iptables', ...placeOf(other) };
  const foreign = hops.find((hop) => !origins.isOurs(hop) && isSuspect(hop));
  return foreign && { kind: foreign.rule ? 'foreign-rule' : 'foreign-policy', ...placeOf(foreign) };
}

function marks({ did }: Hop): boolean {
  return did.kind === 'mark' || did.kind === 'restore-mark';
}

/** True if what comes after is another because of this hop. */
function decides({ did, chain }: Hop): boolean {
  switch (did.kind) {
    case 'dnat':
    case 'redirect':
    case 'snat':
    case 'masquerade':
    case 'untrack':
      return true;
    case 'accept':
    case 'return':
      return chain.table === 'nat'; // what would translate comes after it
    default:
      return false;
  }
}

function driftCause(evidence: Evidence): Cause | undefined {
  const { planned, held, plannedRules, heldRules, scope } = evidence;
  const met = new Set([...planned, ...held].flatMap(({ hops }) => hops.flatMap(({ rule }) => rule?.text ?? [])));
  const isSeen = (drift: Drift): boolean => !('rule' in drift) || met.has(drift.rule) || drift.kind === 'wrong-order';
  for (const chain of visited([...planned, ...held], plannedRules)) {
    const heldChain = sameChain(heldRules, chain);
    if (heldChain?.rules.length === 0 && chain.rules.length > 0 && !chain.base)
      return { kind: 'emptied-chain', table: chain.table, chain: chain.name };
    const drifts = chainDrift(chain, heldChain, scope).filter(isSeen);
    // Where packets go astray, the rule that leads them there says more than the one that is missing.
    const drift = (leadsAstray(evidence) && drifts.find(({ kind }) => kind === 'extra-rule')) || drifts[0];
    if (drift) return fromDrift(drift, evidence);
  }
  return undefined;
}

function rowCause(evidence: Evidence): Cause | undefined {
  const drift = rowToBlame(evidence);
  return drift && fromDrift(drift, evidence);
}

/** Rules lead to a relay that should be there. */
function relayCause({ held }: Evidence): Cause | undefined {
  const dead = held.map(({ hops }) => hops.at(-1)).find((hop) => hop?.chain.origin === 'relay');
  return dead && { kind: 'dead-relay', ...placeOf(dead) };
}

function fromDrift(drift: Drift, evidence: Evidence): Cause {
  const { table, chain } = drift;
  switch (drift.kind) {
    case 'missing-chain':
      return { kind: 'missing-chain', table, chain };
    case 'extra-rule':
      return { kind: leadsAstray(evidence) ? 'stale-endpoint' : 'extra-rule', table, chain, rule: drift.rule };
    case 'missing-rule':
    case 'wrong-probability':
    case 'wrong-order':
      return { kind: drift.kind, table, chain, rule: drift.rule };
    case 'missing-row':
      return { kind: 'missing-row', table, chain, rule: drift.row };
    case 'extra-row':
    case 'wrong-row':
      return { kind: leadsAstray(evidence) ? 'stale-endpoint' : drift.kind, table, chain, rule: drift.row };
    case 'extra-chain':
      return { kind: 'extra-rule', table, chain };
    case 'second-copy':
      return { kind: 'other-iptables', table, chain };
  }
}

function leadsAstray({ held, isBackend }: Evidence): boolean {
  return held.some(({ isRedirected, dst, dstPort }) => isRedirected && !isBackend(hostPort(dst, dstPort)));
}

/** The chains that packets go through in the plan, or into which rules lead them, in the order of the way. */
function visited(outcomes: readonly Outcome[], rules: Ruleset): readonly Chain[] {
  const chains = outcomes.flatMap(({ hops }) =>
    hops.flatMap(({ chain, did }) => [chain, ...('chain' in did ? [{ ...chain, name: did.chain }] : [])]),
  );
  return [...new Set(chains.flatMap((chain) => sameChain(rules, chain) ?? []))];
}

function sameChain({ tables }: Ruleset, { table, name, origin }: Chain): Chain | undefined {
  return tables.find((one) => one.name === table && one.origin === origin)?.chains.get(name);
}

function placeOf({ chain, rule }: Hop): Pick<Cause, 'table' | 'chain' | 'rule'> {
  return { table: chain.table, chain: chain.name, ...(rule && { rule: rule.text }) };
}

/** `nat KUBE-SVC-X: missing: -A …` */
export function causeText({ kind, table, chain, rule, service }: Cause): string {
  const place = chain ? ` in ${table} ${chain}` : '';
  const text = rule || service ? `: ${rule ?? service}` : '';
  return `${WORDS[kind]}${place}${text}`;
}

const WORDS: Readonly<Record<CauseKind, string>> = {
  'foreign-rule': 'a rule that is not the proxy’s comes in between',
  'foreign-policy': 'the policy of a chain drops it',
  'other-iptables': 'rules of the other iptables are at work too',
  'missing-chain': 'a chain is missing',
  'emptied-chain': 'a chain is empty',
  'missing-rule': 'a rule is missing',
  'extra-rule': 'a rule is there that nothing asks for',
  'missing-row': 'a row is missing',
  'extra-row': 'a row is there that nothing asks for',
  'wrong-row': 'a row says something else than it should',
  'stale-endpoint': 'a rule leads to an address that is no endpoint',
  'wrong-probability': 'a rule takes the wrong share',
  'wrong-order': 'rules are in the wrong order',
  'dead-relay': 'no relay takes what rules lead to it',
  'contested-address': 'another Service has this address too, and comes first',
  plan: 'the planned rules are wrong themselves, which is a fault of the proxy',
  unexplained: 'no rule could be blamed',
};
