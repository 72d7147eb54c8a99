// What counts when outcomes are compared: where a packet ends and whose address is seen there, each with its share.
// The way it took does not count: different rules that do the same are the same.
import { hostPort } from '../../lib/ip.ts';
import { type Fraction, fractionText, plus, sameFraction, ZERO } from '../trace/fraction.ts';
import type { Outcome } from '../trace/packet.ts';

/** `10.1.0.7:80, own address` and the like, with the share of packets that end so. */
export type Shares = ReadonlyMap<string, Fraction>;

export interface Fate {
  /** Of clients that nothing remembers. */
  readonly fresh: Shares;
  /** The ends that await remembered clients, sorted. */
  readonly remembered: readonly string[];
}

export type SeenSource = 'client' | 'node';

export function reaches(address: string, source: SeenSource): string {
  return `${address}, seen as ${source}`;
}

export const DROPPED = 'dropped';
export const REJECTED = 'rejected';
/** It goes on as it came. */
export const UNTOUCHED = 'untouched';

/** What rules leave open is part of a fate of its own for every combination of answers. */
export function fatesOf(outcomes: readonly Outcome[]): readonly Fate[] {
  if (outcomes.every(({ conditions }) => conditions.length === 0))
    return [{ fresh: sharesOf(outcomes), remembered: NONE }];
  const byAnswers = Map.groupBy(outcomes, ({ conditions }) =>
    conditions
      .map((condition) => (condition.kind === 'unjudged' ? `${condition.holds}` : '')) // chosen ones have the shares of many
      .join(' ')
      .trim(),
  );
  return [...byAnswers.values()].map((same) => {
    const [known = [], fresh = []] = [true, false].map((wanted) =>
      same.filter(({ conditions }) => conditions.some(({ kind, holds }) => kind === 'remembered' && holds) === wanted),
    );
    const shares = sharesOf(fresh);
    // Whoever is refused whatever is remembered of him has nothing of it.
    const isRefusal = (end: string): boolean => shares.size === 1 && shares.has(end) && REFUSALS.has(end);
    const remembered = known.map(classOf).filter((end) => !isRefusal(end));
    return { fresh: shares, remembered: remembered.sort() };
  });
}

const REFUSALS = new Set([DROPPED, REJECTED]);

const NONE: readonly string[] = [];

function sharesOf(outcomes: readonly Outcome[]): Shares {
  const shares = new Map<string, Fraction>();
  for (const outcome of outcomes) {
    const end = classOf(outcome);
    const before = shares.get(end);
    shares.set(end, before ? plus(before, outcome.share) : outcome.share);
  }
  return shares;
}

export function classOf({ end, dst, dstPort, isSeenAsNode, isRedirected }: Outcome): string {
  switch (end.kind) {
    case 'dropped':
      return DROPPED;
    case 'rejected':
      return REJECTED;
    case 'unjudged':
      return `cannot be judged: ${end.reason}`;
    default:
      return isRedirected ? reaches(hostPort(dst, dstPort), isSeenAsNode ? 'node' : 'client') : UNTOUCHED;
  }
}

export function sameFate(a: Fate, b: Fate): boolean {
  if (a.fresh.size !== b.fresh.size || a.remembered.length !== b.remembered.length) return false;
  for (const [end, share] of a.fresh) if (!sameFraction(share, b.fresh.get(end) ?? ZERO)) return false;
  return a.remembered.every((end, i) => end === b.remembered[i]);
}

export function fateText({ fresh, remembered }: Fate): readonly string[] {
  return [
    ...[...fresh].map(([end, share]) => `${fractionText(share)} ${end}`),
    ...remembered.map((end) => `remembered: ${end}`),
  ];
}
