// A table of nf_tables as the kernel tells it over netlink, without nft. In: the table's name. Out: the same Table as parsing nft's list
// gives. A rule that is not understood to the last attribute stays as one that cannot be judged: it is never left out.
import type { Protocol } from '../../api/objects.ts';
import { isNotFound, KernelError } from '../../kernel/error.ts';
import { IP_PROTOCOL } from '../../kernel/ip-protocol.ts';
import { Nftables } from '../../kernel/nftables.ts';
import { decodeExpressions } from '../../kernel/nftables-decode.ts';
import { decodeSet } from '../../kernel/nftables-decode-sets.ts';
import type {
  NftHeldChain,
  NftHeldElement,
  NftHeldRule,
  NftHeldSet,
  NftSet,
  NftTable,
} from '../../kernel/nftables-objects.ts';
import { NFT_SET_ANONYMOUS } from '../../kernel/nftables-steps.ts';
import { parseNftRule } from '../trace/nft-rules.ts';
import { NftTokens } from '../trace/nft-tokens.ts';
import type { Chain, ElementSet, Rule, Table } from '../trace/ruleset.ts';
import type { Concern } from './concern.ts';
import { rowTest } from './nft-excerpt.ts';
import { type ReadSet, ruleWords } from './nft-netlink-text.ts';

/** Undefined if there is no such table. `concern`: rows that are about others are left out. */
export type ReadTable = (table: NftTable, concern?: Concern) => Promise<Table | undefined>;

/** Somebody may write while we read, list by list; then the lists do not belong together. */
const ATTEMPTS = 10;

/** Asks the kernel of the network namespace that this process is in. */
export const readTable: ReadTable = async (table, concern) => {
  const nftables = new Nftables();
  try {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const before = await nftables.generation();
      const read = await listed(nftables, table, concern);
      if (read !== 'changing' && (await nftables.generation()) === before) return read;
    }
  } finally {
    nftables.close();
  }
  throw new KernelError('KERNEL_REFUSED', {
    operation: 'nftables.list',
    detail: `the rules changed each of ${ATTEMPTS} times that they were read`,
  });
};

async function listed(
  nftables: Nftables,
  table: NftTable,
  concern: Concern | undefined,
): Promise<Table | undefined | 'changing'> {
  try {
    if (!(await nftables.getTable(table))) return undefined;
    const chains = await nftables.listChains(table);
    const rules = await nftables.listRules(table);
    const sets = new Map<string, HeldSet>();
    for (const held of await nftables.listSets(table, true)) {
      const set = decodeSet(held);
      if (set) sets.set(set.name, { held, set, elements: await elementsOf(nftables, table, set, concern) });
    }
    return tableOf(table, chains, rules, sets);
  } catch (error) {
    if (isNotFound(error)) return 'changing';
    throw error;
  }
}

async function elementsOf(
  nftables: Nftables,
  table: NftTable,
  set: NftSet,
  concern: Concern | undefined,
): Promise<readonly NftHeldElement[]> {
  if (!concern) return nftables.listElements(table, set);
  // Whom rules remember is nobody's plan, and may be many.
  return set.isDynamic ? [] : nftables.listElements(table, set, false, rowTest(set, concern));
}

interface HeldSet extends ReadSet {
  readonly held: NftHeldSet;
  readonly elements: readonly NftHeldElement[];
}

function tableOf(
  table: NftTable,
  chains: readonly NftHeldChain[],
  rules: readonly NftHeldRule[],
  sets: ReadonlyMap<string, HeldSet>,
): Table {
  // What is looked up where one element stands for all other keys is not what the walker finds.
  const plain = [...sets.values()].filter(({ elements }) => elements.every(({ key }) => key !== NO_KEY));
  const readSets = new Map(plain.map((set) => [set.set.name, isAnonymous(set) ? withInline(set) : set]));
  const rulesOf = Map.groupBy(rules, ({ chain }) => chain);
  const chainOf = ({ name, base, policy }: NftHeldChain): Chain => ({
    table: table.name,
    origin: 'nftables',
    name,
    ...(base && { base: { ...base, type: base.type === 'nat' ? 'nat' : 'filter', policy: policy ?? 'accept' } }),
    rules: (rulesOf.get(name) ?? []).map((rule) => ruleOf(rule, table, readSets)),
  });
  return {
    name: table.name,
    origin: 'nftables',
    chains: new Map(chains.map((chain) => [chain.name, chainOf(chain)])),
    sets: new Map([...sets].filter(([, set]) => !isAnonymous(set)).map(([name, set]) => [name, elementSet(set)])),
  };
}

function ruleOf(rule: NftHeldRule, table: NftTable, sets: ReadonlyMap<string, ReadSet>): Rule {
  const expressions = decodeExpressions(rule.expressions, table);
  const words = expressions && ruleWords(expressions, table.family, sets);
  if (words === undefined) return unknownRule(`unknown rule (handle ${rule.handle})`);
  const comment = rule.comment === undefined ? '' : ` comment "${rule.comment.replaceAll('"', '’')}"`;
  return parseNftRule(NftTokens.of(`${words}${comment}`).line());
}

/** It may concern any packet and do anything with it. */
function unknownRule(text: string): Rule {
  return { text, matches: [{ not: false, kind: 'unknown', text }], statements: [{ kind: 'unknown', text }] };
}

function isAnonymous({ held }: HeldSet): boolean {
  return (held.flags & NFT_SET_ANONYMOUS) !== 0;
}

/** In the order of their values, as nft prints them. */
function withInline({ set, elements }: HeldSet): ReadSet {
  const numbered = (key: string): string => String(IP_PROTOCOL[key.toUpperCase() as Protocol] ?? key);
  const sorted = elements.toSorted((a, b) => numbered(a.key).localeCompare(numbered(b.key), 'en', { numeric: true }));
  const texts = (set.isInterval ? elements : sorted).map(({ key, value }) => (value ? `${key} : ${value}` : key));
  return { set, inline: `{ ${texts.join(', ')} }` };
}

function elementSet({ set, elements }: HeldSet): ElementSet {
  const ranges = elements.filter(({ key }) => isRange(key)).map(({ key, value = '' }) => ({ text: key, value }));
  const singles = elements.filter(({ key }) => !isRange(key));
  return {
    name: set.name,
    elements: new Map(singles.map(({ key, value = '' }) => [key === NO_KEY ? '*' : key, value])),
    packets: new Map(
      elements.flatMap(({ key, packets }) => (packets === undefined ? [] : [[key, Number(packets)] as const])),
    ),
    ranges,
    isDynamic: set.isDynamic ?? false,
  };
}

// What the kernel lists for the element that stands for all other keys; nft writes an asterisk.
const NO_KEY = '';

function isRange(key: string): boolean {
  return key.includes('/') || key.includes('-');
}
