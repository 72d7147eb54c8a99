// In: the text of iptables-save, or the one that iptables-restore loads.  Out: the Ruleset it describes.
// What a rule asks or does that is not known here stays in it as text, so that the walker can say so.
import type { Family } from '../../lib/ip.ts';
import { matchesOf } from './iptables-matches.ts';
import { statementsOf } from './iptables-targets.ts';
import { Words } from './iptables-words.ts';
import type { BaseChain, Chain, Rule, Ruleset, Table, TableOrigin } from './ruleset.ts';

export function parseIptablesSave(text: string, family: Family, origin: TableOrigin = 'iptables'): Ruleset {
  const tables: Table[] = [];
  let table = '';
  let chains = new Map<string, OpenChain>();
  for (const line of text.split('\n')) {
    switch (line[0]) {
      case '*':
        table = line.slice(1).trim();
        chains = new Map(BUILT_IN[table]?.map((name) => [name, openChain(table, name, 'ACCEPT', origin)]));
        tables.push({ name: table, origin, chains, sets: NO_SETS });
        break;
      case ':': {
        const [name, policy] = line.slice(1).split(' ') as [string, string | undefined];
        chains.set(name, openChain(table, name, policy ?? '-', origin));
        break;
      }
      case '-':
      case '[':
        addRule(chains, table, line.replace(/^\[\d+:\d+\] /, ''), origin);
        break;
      default: // comments, COMMIT, empty lines
    }
  }
  return { family, tables };
}

const NO_SETS: Table['sets'] = new Map(); // ipset's are elsewhere

interface OpenChain extends Chain {
  readonly rules: Rule[];
}

function addRule(chains: Map<string, OpenChain>, table: string, line: string, origin: TableOrigin): void {
  const [command, name, ...words] = splitWords(line);
  if ((command !== '-A' && command !== '-I') || name === undefined) return;
  const chain = chains.get(name) ?? openChain(table, name, '-', origin);
  chains.set(name, chain);
  const rule = parseRule(line, words);
  if (command === '-A') chain.rules.push(rule);
  else chain.rules.unshift(rule);
}

function parseRule(text: string, words: readonly string[]): Rule {
  const target = words.findIndex((word) => word === '-j' || word === '-g');
  return {
    text,
    matches: matchesOf(new Words(target < 0 ? words : words.slice(0, target))),
    statements: target < 0 ? [] : statementsOf(new Words(words.slice(target))),
  };
}

/** The tables of iptables and where their chains stand in a packet's way (linux/netfilter_ipv4.h). */
const PRIORITY: Readonly<Record<string, number>> = { raw: -300, mangle: -150, filter: 0, security: 50 };
const NAT_PRIORITY: Readonly<Record<string, number>> = { PREROUTING: -100, OUTPUT: -100, INPUT: 100, POSTROUTING: 100 };
const BUILT_IN: Readonly<Record<string, readonly string[]>> = {
  raw: ['PREROUTING', 'OUTPUT'],
  mangle: ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'],
  nat: ['PREROUTING', 'INPUT', 'OUTPUT', 'POSTROUTING'],
  filter: ['INPUT', 'FORWARD', 'OUTPUT'],
  security: ['INPUT', 'FORWARD', 'OUTPUT'],
};

function openChain(table: string, name: string, policy: string, origin: TableOrigin): OpenChain {
  const chain = { table, origin, name, rules: [] };
  if (!BUILT_IN[table]?.includes(name)) return chain;
  const base: BaseChain = {
    hook: name.toLowerCase() as BaseChain['hook'],
    priority: table === 'nat' ? NAT_PRIORITY[name]! : PRIORITY[table]!,
    type: table === 'nat' ? 'nat' : 'filter',
    policy: policy === 'DROP' ? 'drop' : 'accept',
  };
  return { ...chain, base };
}

/** Words are separated by spaces; quotes keep words together, and a backslash keeps a quote. */
export function splitWords(line: string): string[] {
  if (!line.includes('"') && !line.includes("'")) return line.split(' ').filter((word) => word !== '');
  const words: string[] = [];
  for (const match of line.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+)/g)) {
    words.push(match[1]?.replace(/\\(.)/g, '$1') ?? match[2] ?? match[3]!);
  }
  return words;
}
