// Rules in a form that compares: what they say, without comments and without the words a tool chose for it.
import { fractionText } from '../trace/fraction.ts';
import type { Match, Rule, Statement } from '../trace/ruleset.ts';

const known = new WeakMap<Rule, string>();

/** What it asks, whatever it then does. */
export function canonicalMatches({ matches }: Rule): string {
  return matches.map(matchText).sort().join(' ');
}

export function canonicalRule(rule: Rule): string {
  let text = known.get(rule);
  if (text === undefined) {
    text = `${canonicalMatches(rule)} => ${rule.statements.map(plain).join(' ')}`;
    known.set(rule, text);
  }
  return text;
}

/** The same for all rules that differ in their probability alone. */
export function withoutChance(rule: Rule): string {
  return canonicalRule(rule).replace(/"chance":"[^"]*"/, '"chance":"?"');
}

function matchText(match: Match): string {
  return match.kind === 'chance'
    ? JSON.stringify({ not: match.not, chance: fractionText(match.probability) })
    : plain(match);
}

function plain(value: Match | Statement): string {
  return JSON.stringify(value);
}
