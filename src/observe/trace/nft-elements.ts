// In: the words of a set's block, or of an anonymous set in a rule.  Out: the set.

import { unquoted } from './nft-tokens.ts';
import type { ElementSet } from './ruleset.ts';

/** `type …`, `flags …`, `elements = { … }` and other lines, of which words are left. */
export function elementSet(name: string, words: readonly string[]): ElementSet {
  const open = words.findIndex((word, i) => word === 'elements' && words[i + 1] === '=');
  const flagsAt = words.indexOf('flags');
  const flags = flagsAt < 0 ? [] : words.slice(flagsAt + 1, flagsAt + 6);
  const isDynamic = flags.some((flag) => flag.includes('dynamic'));
  return { ...anonymousSet(open < 0 ? [] : words.slice(open + 3, words.lastIndexOf('}'))), name, isDynamic };
}

/** `a . b : value, c . d : value`, each perhaps with a comment, a counter or a timeout. */
export function anonymousSet(words: readonly string[]): ElementSet {
  const elements = new Map<string, string>();
  const packets = new Map<string, number>();
  const ranges: { text: string; value: string }[] = [];
  for (const element of splitAt(words, ',')) {
    const colon = element.indexOf(':');
    const before = colon < 0 ? element : element.slice(0, colon);
    const end = before.findIndex((word) => EXTRAS.has(word));
    const key = (end < 0 ? before : before.slice(0, end)).map(unquoted).join(' ');
    const value = colon < 0 ? '' : element.slice(colon + 1).join(' ');
    if (key === '') continue;
    if (isRange(key)) ranges.push({ text: key, value });
    else elements.set(key, value);
    const counterAt = before.indexOf('packets');
    if (counterAt >= 0) packets.set(key, Number(before[counterAt + 1]));
  }
  return { name: '', elements, packets, ranges, isDynamic: false };
}

const EXTRAS = new Set(['comment', 'counter', 'timeout', 'expires']);

function isRange(key: string): boolean {
  return /^[0-9a-fA-F.:]+\/\d+$/.test(key) || /^[0-9a-fA-F.:]+-[0-9a-fA-F.:]+$/.test(key);
}

export function splitAt(words: readonly string[], separator: string): readonly (readonly string[])[] {
  const parts: string[][] = [[]];
  for (const word of words) {
    if (word === separator) parts.push([]);
    else parts.at(-1)!.push(word);
  }
  return parts;
}
