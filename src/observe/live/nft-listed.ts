// The tables of nf_tables as nft lists them, without those that are read in another way: iptables' own, of which iptables-save
// tells more, and which may be so large that listing them takes many seconds.
import { KernelError } from '../../kernel/error.ts';
import type { RunProcess } from '../../kernel/process.ts';
import type { Family } from '../../lib/ip.ts';
import { isIptablesTable } from '../trace/nft-list.ts';

/** `without`: names of tables of the family that need not be listed. */
export async function listedTables(family: Family, run: RunProcess, without: readonly string[]): Promise<string> {
  // The names of all chains are few words; the list of tables, oddly, makes nft read everything.
  const ip = family === 'IPv4' ? 'ip' : 'ip6';
  const wanted = tablesIn(await list(run, 'chains')).filter(
    (table) =>
      (table.family === 'inet' || table.family === ip) &&
      !(table.family === ip && without.includes(table.name)) &&
      !isIptablesTable(table.name, table.chains),
  );
  try {
    const texts: string[] = [];
    for (const { family: of, name } of wanted) texts.push(await list(run, 'table', of, name));
    return texts.join('\n');
  } catch {
    // One is gone meanwhile, or has a name that nft prints but does not take. There may be more in it than is wanted.
    return list(run, 'ruleset');
  }
}

async function list(run: RunProcess, ...what: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await run('nft', ['list', ...what]);
  if (status === 0) return stdout;
  throw new KernelError('TOOL_FAILED', { operation: `nft list ${what.join(' ')}`, detail: stderr.trim() });
}

interface ListedTable {
  readonly family: string;
  readonly name: string;
  readonly chains: readonly string[];
}

/** `table ip nat {`, and in it `chain PREROUTING {`. */
function tablesIn(listed: string): readonly ListedTable[] {
  const tables: (ListedTable & { readonly chains: string[] })[] = [];
  for (const [, family, name, chain] of listed.matchAll(/^(?:table (\S+) (\S+)|\tchain (\S+)) \{/gm)) {
    if (chain !== undefined) tables.at(-1)?.chains.push(chain);
    else tables.push({ family: family!, name: name!, chains: [] });
  }
  return tables;
}
