// The rules that a host's kernel holds, of every kind: both variants of iptables, and the tables of nf_tables.
import { KernelError } from '../../kernel/error.ts';
import { Iptables, type IptablesVariant } from '../../kernel/iptables.ts';
import { type RunProcess, runProcess } from '../../kernel/process.ts';
import type { Family } from '../../lib/ip.ts';
import { TABLE_NAME } from '../../modes/nftables/names.ts';
import { parseIptablesSave } from '../trace/iptables-save.ts';
import { parseNftList, withoutIptablesTables } from '../trace/nft-list.ts';
import type { Ruleset, Table } from '../trace/ruleset.ts';
import type { Concern } from './concern.ts';
import { iptablesExcerpt } from './iptables-excerpt.ts';
import type { TraceMode } from './modes.ts';
import { listedTables } from './nft-listed.ts';
import { type ReadTable, readTable } from './nft-netlink.ts';

export interface KernelRules {
  readonly ruleset: Ruleset;
  /** As the tools print them. */
  readonly text: string;
  /** `in the kernel`, and what of it could not be read. */
  readonly source: string;
}

interface Question extends Pick<TraceMode, 'isOwnTable' | 'needs' | 'beside'> {
  /** Leaves out what packets to some Services cannot meet: memory then follows their number, not the cluster's. */
  readonly concern?: Concern;
}

/** Of two tables with one priority the kernel asks the younger first, and no text tells which that is. As the others are the ones
 *  that do not belong there, the worse is assumed: that they come first. */
export async function kernelRules(
  family: Family,
  { isOwnTable: isOwn, needs, beside, concern }: Question,
  run: RunProcess = runProcess,
  // Programs may be started in another network namespace; a socket is in ours.
  own: ReadTable | 'listed' = run === runProcess ? readTable : 'listed',
  readBeside = run === runProcess ? beside : undefined,
): Promise<KernelRules> {
  const saved = await savedTables(family, run, concern);
  const isOwnRead = needs === 'nftables' && own !== 'listed';
  const listed = await ifInstalled(() => listedTables(family, run, isOwnRead ? [TABLE_NAME] : []));
  if (needs === 'iptables' && saved.length === 0) throw missing('iptables-save');
  const tables = [
    ...saved.flatMap(({ variant, text }) => {
      const origin = variant === 'auto' ? 'iptables' : (`iptables-${variant}` as const);
      return parseIptablesSave(text, family, origin).tables;
    }),
    ...(needs === 'nftables' ? await nftTables(listed, family, own, concern) : nativeTables(listed ?? '', family)),
  ];
  return {
    ruleset: {
      family,
      tables: [...tables.filter((table) => !isOwn(table)), ...tables.filter(isOwn)],
      ...(await readBeside?.(family, concern)),
    },
    text: [...saved.map(({ text }) => text), listed ?? ''].join('\n'),
    source: listed === undefined ? UNLISTED : 'in the kernel',
  };
}

const UNLISTED = 'in the kernel (without others’ tables of nf_tables: nft, which lists them, is not installed)';

/** The proxy's own table over netlink, the others' as nft lists them, if it is there. */
async function nftTables(
  listed: string | undefined,
  family: Family,
  own: ReadTable | 'listed',
  concern: Concern | undefined,
): Promise<readonly Table[]> {
  if (own === 'listed') {
    if (listed === undefined) throw missing('nft');
    return nativeTables(listed, family);
  }
  const table = await own({ family, name: TABLE_NAME }, concern);
  const others = nativeTables(withoutOwnTable(listed ?? '', family), family);
  return table ? [...others, table] : others;
}

/** Of the listed tables, those that are not iptables'. */
function nativeTables(listed: string, family: Family): readonly Table[] {
  return withoutIptablesTables(parseNftList(listed, family)).tables;
}

/** nft indents all but a table's first and last line. */
function withoutOwnTable(listed: string, family: Family): string {
  const start = listed.search(new RegExp(`^table ${family === 'IPv4' ? 'ip' : 'ip6'} ${TABLE_NAME} \\{`, 'm'));
  if (start < 0) return listed;
  return listed.slice(0, start) + listed.slice(listed.indexOf('\n}', start) + 2);
}

function missing(program: string): KernelError {
  return new KernelError('TOOL_MISSING', {
    operation: program,
    detail: 'it lists the rules, and is not installed here',
  });
}

interface SavedTables {
  readonly variant: IptablesVariant;
  readonly text: string;
}

/** What `iptables-save` of each variant prints; one that is not installed, or has no rules beside the host's own, is left out. */
async function savedTables(
  family: Family,
  run: RunProcess,
  concern: Concern | undefined,
): Promise<readonly SavedTables[]> {
  const own = new Iptables(family, 'auto', run);
  const save = (iptables: Iptables): Promise<string | undefined> =>
    ifInstalled(async () => {
      const text = await iptables.save();
      return concern ? iptablesExcerpt(text, concern) : text;
    });
  const text = await save(own);
  if (text === undefined) return [];
  const other: IptablesVariant = (await own.version()).backend === 'legacy' ? 'nft' : 'legacy';
  const otherText = await save(new Iptables(family, other, run));
  const saved: SavedTables = { variant: 'auto', text };
  return /^-A /m.test(otherText ?? '') ? [saved, { variant: other, text: otherText! }] : [saved];
}

/** A variant that is not installed has no rules that anybody here could have loaded. Any other failure is one: no answer must be
 *  taken for an empty one. */
async function ifInstalled<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof KernelError && error.code === 'TOOL_MISSING') return undefined;
    throw error;
  }
}
