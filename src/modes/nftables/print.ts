// In: a plan.  Out: nft's text for it. `nft -f` makes the same table of it as apply.ts does.
import type { NftSet } from '../../kernel/nftables-objects.ts';
import { formatVerdict } from '../../kernel/nftables-values.ts';
import { assertNever } from '../../lib/assert.ts';
import type { Family } from '../../lib/ip.ts';
import { TABLE_NAME, tableComment } from './names.ts';
import { allChains, allRows, allSets, type NftablesPlan } from './plan.ts';
import type { ChainPlan, Clause, Field, Row, Rule } from './rules.ts';

export function print(plan: NftablesPlan): string {
  const { family, hasCounters } = plan.facts;
  const rows = Map.groupBy(allRows(plan), ({ set }) => set);
  const lines = [
    `table ${ipOf(family)} ${TABLE_NAME} {`,
    `\tcomment "${tableComment(hasCounters)}"`,
    ...allSets(plan).flatMap((set) => ['', ...setLines(set, rows.get(set.name) ?? [])]),
    ...allChains(plan).flatMap((chain) => ['', ...chainLines(chain, family)]),
    '}',
  ];
  return `${lines.join('\n')}\n`;
}

function setLines(set: NftSet, rows: readonly Row[]): string[] {
  const lines = [`\t${set.value ? 'map' : 'set'} ${set.name} {`, `\t\t${typeLine(set)}`];
  if (set.maxElements !== undefined) lines.push(`\t\tsize ${set.maxElements}`);
  if (set.isDynamic) lines.push('\t\tflags dynamic,timeout');
  if (set.hasCounters) lines.push('\t\tcounter');
  if (set.comment) lines.push(`\t\tcomment "${set.comment}"`);
  if (rows.length > 0) lines.push(`\t\telements = { ${rows.map(element).join(',\n\t\t\t     ')} }`);
  return [...lines, '\t}'];
}

function typeLine(set: NftSet): string {
  const key = (set.typeof?.key ?? set.key).join(' . ');
  const value = set.value === 'verdict' ? 'verdict' : (set.typeof?.value ?? set.value)?.join(' . ');
  return `${set.typeof ? 'typeof' : 'type'} ${key}${value ? ` : ${value}` : ''}`;
}

function element({ key, value, comment }: Row): string {
  return `${key}${comment ? ` comment "${comment}"` : ''}${value ? ` : ${value}` : ''}`;
}

function chainLines({ name, base, comment, rules }: ChainPlan, family: Family): string[] {
  const lines = [`\tchain ${name} {`];
  if (comment) lines.push(`\t\tcomment "${comment}"`);
  if (base) lines.push(`\t\ttype ${base.type} hook ${base.hook} priority ${base.priority};`);
  return [...lines, ...rules.map((rule) => `\t\t${ruleText(rule, family)}`), '\t}'];
}

export function ruleText({ clauses, comment }: Rule, family: Family): string {
  const text = clauses.map((clause) => clauseText(clause, family)).join(' ');
  return comment ? `${text} comment "${comment}"` : text;
}

function clauseText(clause: Clause, family: Family): string {
  const ip = ipOf(family);
  switch (clause.kind) {
    case 'is-new':
      return 'ct state new';
    case 'is-translated':
      return 'ct status dnat';
    case 'has-ports':
      return 'meta l4proto { tcp, udp, sctp }';
    case 'in-set':
      return `${fields(typeof clause.field === 'string' ? [clause.field] : clause.field, family)} @${clause.set}`;
    case 'in-networks':
      return `${ip} ${clause.field}${not(clause.isNegated)} ${networks(clause.networks)}`;
    case 'from-interface':
      return `iifname${not(clause.isNegated)} "${clause.name}${clause.isPrefix ? '*' : ''}"`;
    case 'from-node':
      return 'fib saddr type local';
    case 'to-node':
      return 'fib daddr type local';
    case 'has-mark':
      return `meta mark & ${hex(clause.mark)} != ${hex(0)}`;
    case 'set-mark':
      return `meta mark set meta mark | ${hex(clause.mark)}`;
    case 'toggle-mark':
      return `meta mark set meta mark ^ ${hex(clause.mark)}`;
    case 'verdict-of':
      return `${fields(clause.fields, family)} vmap @${clause.map}`;
    case 'pick': {
      const key = clause.fields.map((field) => (field === 'dport' ? `${clause.transport} dport` : `${ip} daddr`));
      const offset = clause.offset > 0 ? ` offset ${clause.offset}` : '';
      return `dnat ${ip} to ${key.join(' . ')} . numgen random mod ${clause.count}${offset} map @${clause.map}`;
    }
    case 'stick':
      return `meta l4proto ${clause.transport} dnat ${ip} to ${ip} saddr map @${clause.map} : ${clause.port}`;
    case 'learn':
      return `update @${clause.map} { ${ip} saddr timeout ${clause.timeoutSeconds}s : ${ip} daddr }`;
    case 'verdict':
      return formatVerdict(clause.verdict);
    case 'reject':
      return 'reject';
    case 'masquerade':
      return 'masquerade fully-random';
    default:
      return assertNever(clause);
  }
}

function fields(list: readonly Field[], family: Family): string {
  const ip = ipOf(family);
  const words: Readonly<Record<Field, string>> = {
    saddr: `${ip} saddr`,
    daddr: `${ip} daddr`,
    l4proto: 'meta l4proto',
    dport: 'th dport',
    'original-daddr': `ct original ${ip} daddr`,
    'original-dport': 'ct original proto-dst',
  };
  return list.map((field) => words[field]).join(' . ');
}

function networks(list: readonly string[]): string {
  return list.length === 1 ? list[0]! : `{ ${list.join(', ')} }`;
}

function not(isNegated: boolean): string {
  return isNegated ? ' !=' : '';
}

function hex(mark: number): string {
  return `0x${(mark >>> 0).toString(16).padStart(8, '0')}`;
}

function ipOf(family: Family): 'ip' | 'ip6' {
  return family === 'IPv4' ? 'ip' : 'ip6';
}
