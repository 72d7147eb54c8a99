// In: the words of one rule as nft prints it.  Out: the rule. From the first word that is not known on, all that is left up to the
// verdict is one match that cannot be judged.
import { parseMatch } from './nft-matches.ts';
import { parseStatement } from './nft-statements.ts';
import { NftTokens, unquoted } from './nft-tokens.ts';
import type { Match, Rule, Statement } from './ruleset.ts';

export function parseNftRule(words: readonly string[]): Rule {
  const tokens = new NftTokens(words);
  const matches: Match[] = [];
  const statements: Statement[] = [];
  while (!tokens.isEmpty) {
    if (tokens.take('comment')) {
      tokens.next();
      continue;
    }
    const statement = parseStatement(tokens);
    if (statement) {
      statements.push(...statement);
      continue;
    }
    const found = parseMatch(tokens);
    if (found) {
      matches.push(...found.matches);
      statements.push(...found.statements);
      continue;
    }
    matches.push({ not: false, kind: 'unknown', text: unknownText(tokens) });
  }
  return { text: words.join(' '), matches, statements };
}

const VERDICTS = new Set([
  'accept',
  'drop',
  'return',
  'jump',
  'goto',
  'reject',
  'masquerade',
  'dnat',
  'snat',
  'redirect',
]);

function unknownText(tokens: NftTokens): string {
  const words: string[] = [];
  while (!tokens.isEmpty && !VERDICTS.has(tokens.peek()) && tokens.peek() !== 'comment')
    words.push(unquoted(tokens.next()));
  return words.join(' ');
}
