// In: the text of `nft list ruleset`, or the one that nftables mode prints.  Out: the Ruleset it describes, of one family.
import type { Family } from '../../lib/ip.ts';
import { elementSet } from './nft-elements.ts';
import { parseNftRule } from './nft-rules.ts';
import { NftTokens, unquoted } from './nft-tokens.ts';
import type { BaseChain, Chain, ElementSet, Hook, Rule, Ruleset, Table } from './ruleset.ts';

export function parseNftList(text: string, family: Family): Ruleset {
  const tokens = NftTokens.of(text);
  const tables: Table[] = [];
  while (!tokens.isEmpty) {
    tokens.skipLines();
    if (tokens.isEmpty) break;
    if (!tokens.take('table')) {
      tokens.line();
      continue;
    }
    const tableFamily = tokens.next();
    const table = parseTable(tokens.next(), tokens);
    if (tableFamily === 'inet' || tableFamily === (family === 'IPv4' ? 'ip' : 'ip6')) tables.push(table);
  }
  return { family, tables };
}

/** Tables that iptables made through nf_tables: iptables-save tells more of them than nft does. */
export function withoutIptablesTables({ family, tables }: Ruleset): Ruleset {
  return { family, tables: tables.filter(({ name, chains }) => !isIptablesTable(name, [...chains.keys()])) };
}

export function isIptablesTable(name: string, chains: readonly string[]): boolean {
  return (
    ['raw', 'mangle', 'nat', 'filter', 'security'].includes(name) &&
    chains.some((chain) => chain === chain.toUpperCase())
  );
}

function parseTable(name: string, tokens: NftTokens): Table {
  const chains = new Map<string, Chain>();
  const sets = new Map<string, ElementSet>();
  tokens.take('{');
  for (;;) {
    tokens.skipLines();
    if (tokens.isEmpty || tokens.take('}')) break;
    const word = tokens.next();
    if (word === 'chain') {
      const chain = parseChain(name, tokens.next(), tokens);
      chains.set(chain.name, chain);
    } else if (word === 'set' || word === 'map') {
      const setName = tokens.next();
      sets.set(setName, elementSet(setName, tokens.block()));
    } else if (OTHER_BLOCKS.has(word)) {
      while (!tokens.isEmpty && tokens.peek() !== '{') tokens.next();
      tokens.block();
    } else tokens.line();
  }
  return { name, origin: 'nftables', chains, sets };
}

const OTHER_BLOCKS = new Set(['counter', 'quota', 'limit', 'flowtable', 'ct', 'secmark', 'synproxy']);

function parseChain(table: string, name: string, tokens: NftTokens): Chain {
  const rules: Rule[] = [];
  let base: BaseChain | undefined;
  tokens.take('{');
  for (;;) {
    tokens.skipLines();
    if (tokens.isEmpty || tokens.take('}')) break;
    const words = tokens.line();
    if (words[0] === 'type' && words.includes('hook')) base = parseBase(words);
    else if (words[0] !== 'comment') rules.push(parseNftRule(words));
  }
  return { table, origin: 'nftables', name, ...(base && { base }), rules };
}

/** The names of priorities, which nft prints with an offset: `dstnat - 10`. */
const PRIORITIES: Readonly<Record<string, number>> = {
  raw: -300,
  mangle: -150,
  dstnat: -100,
  filter: 0,
  security: 50,
  srcnat: 100,
};

function parseBase(words: readonly string[]): BaseChain {
  const after = (word: string): string => words[words.indexOf(word) + 1] ?? '';
  const at = words.indexOf('priority') + 1;
  const sign = words[at + 1] === '-' ? -1 : 1;
  const offset = words[at + 1] === '+' || words[at + 1] === '-' ? sign * Number(words[at + 2]) : 0;
  const name = unquoted(words[at] ?? '0');
  return {
    hook: after('hook') as Hook,
    priority: (PRIORITIES[name] ?? Number(name)) + offset,
    type: after('type') === 'nat' ? 'nat' : 'filter',
    policy: words.includes('policy') && after('policy') === 'drop' ? 'drop' : 'accept',
  };
}
