// The iptables chains of IPVS mode and the jumps into them. Jumps are only ever added where missing.
import { type Footprint, footprint, keepsChain, keepsJump, NO_FOOTPRINT } from '../footprint.ts';
import type { IpvsRules } from './rules.ts';

export type Table = 'nat' | 'filter';

export const CHAINS: Readonly<Record<Table, readonly string[]>> = {
  nat: ['KUBE-SERVICES', 'KUBE-POSTROUTING', 'KUBE-NODE-PORT', 'KUBE-LOAD-BALANCER', 'KUBE-MARK-MASQ'],
  filter: [
    'KUBE-FORWARD',
    'KUBE-NODE-PORT',
    'KUBE-PROXY-FIREWALL',
    'KUBE-SOURCE-RANGES-FIREWALL',
    'KUBE-IPVS-FILTER',
    'KUBE-IPVS-OUT-FILTER',
  ],
};

/** Only there while a service has external traffic policy Local. */
export const LOCAL_CLIENTS_CHAIN = 'KUBE-LOCAL-CLIENTS';

export interface Jump {
  readonly table: Table;
  readonly from: string;
  /** The rule as iptables-save prints it, without `-A` and the chain's name. */
  readonly rule: string;
}

/** In the order upstream ensures them. Each missing one goes to the front, so on a clean host the last stands first. */
export const JUMPS: readonly Jump[] = [
  jump('nat', 'OUTPUT', 'KUBE-SERVICES', 'kubernetes service portals'),
  jump('nat', 'PREROUTING', 'KUBE-SERVICES', 'kubernetes service portals'),
  jump('nat', 'POSTROUTING', 'KUBE-POSTROUTING', 'kubernetes postrouting rules'),
  jump('filter', 'FORWARD', 'KUBE-FORWARD', 'kubernetes forwarding rules'),
  jump('filter', 'INPUT', 'KUBE-NODE-PORT', 'kubernetes health check rules'),
  jump('filter', 'INPUT', 'KUBE-PROXY-FIREWALL', 'kube-proxy firewall rules'),
  jump('filter', 'FORWARD', 'KUBE-PROXY-FIREWALL', 'kube-proxy firewall rules'),
  jump('filter', 'INPUT', 'KUBE-IPVS-FILTER', 'kubernetes ipvs access filter'),
  jump('filter', 'OUTPUT', 'KUBE-IPVS-OUT-FILTER', 'kubernetes ipvs access filter'),
];

function jump(table: Table, from: string, to: string, comment: string): Jump {
  return { table, from, rule: `-m comment --comment "${comment}" -j ${to}` };
}

/** What stands of them, as iptables-save tells. */
export interface HeldChains {
  readonly chains: Readonly<Record<Table, ReadonlySet<string>>>;
  /** As indexes into JUMPS. */
  readonly jumps: ReadonlySet<number>;
  /** Chains that rules of others lead to, such as those that another mode left behind. */
  readonly referenced: Readonly<Record<Table, ReadonlySet<string>>>;
}

/** In: the text of iptables-save. */
export function heldChains(save: string): HeldChains {
  const chains: Record<Table, Set<string>> = { nat: new Set(), filter: new Set() };
  const referenced: Record<Table, Set<string>> = { nat: new Set(), filter: new Set() };
  const jumps = new Set<number>();
  let table = '';
  for (const line of save.split('\n')) {
    if (line.startsWith('*')) table = line.slice(1);
    else if (line.startsWith(':') && table in chains) chains[table as Table].add(line.slice(1, line.indexOf(' ')));
    else if (line.startsWith('-A ') && table in chains) {
      const index = JUMPS.findIndex((jump) => jump.table === table && line === `-A ${jump.from} ${jump.rule}`);
      const isOurs = ownChains(table as Table).includes(line.split(' ', 2)[1]!);
      const target = / -[jg] (\S+)/.exec(line)?.[1];
      if (index >= 0) jumps.add(index);
      else if (target && !isOurs) referenced[table as Table].add(target);
    }
  }
  return { chains, jumps, referenced };
}

/** A line for people on how the rules of our chains differ from those that were written, as far as their number tells: iptables
 *  prints rules in words of its own. Undefined if it does not. In: the text of iptables-save. */
export function foundOtherRules(save: string, rules: IpvsRules): string | undefined {
  const { jumps } = heldChains(save);
  const missing = JUMPS.find((_, i) => !jumps.has(i));
  if (missing) return `the rule that leads from ${missing.from} of table ${missing.table} to our chains is gone`;
  const held = ruleCounts(save.split('\n'));
  const wanted = ruleCounts(['*nat', ...rules.nat, '*filter', ...rules.filter]);
  for (const table of ['nat', 'filter'] as const) {
    for (const chain of ownChains(table)) {
      const [are, should] = [held, wanted].map((counts) => counts.get(`${table} ${chain}`) ?? 0);
      if (are !== should) return `chain ${chain} of table ${table} has ${are} rules instead of ${should}`;
    }
  }
  return undefined;
}

/** By `nat KUBE-SERVICES`. */
function ruleCounts(lines: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  let table = '';
  for (const line of lines) {
    if (line.startsWith('*')) table = line.slice(1).trimEnd();
    if (!line.startsWith('-A ')) continue;
    const key = `${table} ${line.split(' ', 2)[1]}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

/** Every chain written anew. `jumps`: lines that put missing ones in place. */
export function restoreLines(
  rules: IpvsRules,
  hadLocalClients: boolean,
  jumps: (table: Table) => readonly string[],
): string[] {
  const hasLocalClients = rules.nat.some((rule) => rule.startsWith(`-A ${LOCAL_CLIENTS_CHAIN} `));
  const isLocalClientsIn = hasLocalClients || hadLocalClients;
  return [
    '*nat',
    ...CHAINS.nat.map(chainLine),
    ...(isLocalClientsIn ? [chainLine(LOCAL_CLIENTS_CHAIN)] : []),
    ...rules.nat,
    ...(isLocalClientsIn && !hasLocalClients ? [`-X ${LOCAL_CLIENTS_CHAIN}`] : []),
    ...jumps('nat'),
    'COMMIT',
    '*filter',
    ...CHAINS.filter.map(chainLine),
    ...rules.filter,
    ...jumps('filter'),
    'COMMIT',
  ];
}

/** Lines for iptables-restore that leave nothing of ours; none if nothing is there. A chain that somebody else's rules lead
 *  to is only emptied. `keep`: what the mode that runs now uses. */
export function removalLines(held: HeldChains, keep = NO_FOOTPRINT): string[] {
  return (['nat', 'filter'] as const).flatMap((table) => {
    const jumps = JUMPS.filter((jump, i) => jump.table === table && held.jumps.has(i) && !keepsJump(keep, jump));
    const isGoing = (chain: string): boolean => held.chains[table].has(chain) && !keepsChain(keep, table, chain);
    const chains = ownChains(table).filter(isGoing);
    if (jumps.length + chains.length === 0) return [];
    const deletions = jumps.map(({ from, rule }) => `-D ${from} ${rule}`);
    const gone = chains.filter((chain) => !held.referenced[table].has(chain)).map((chain) => `-X ${chain}`);
    return [`*${table}`, ...chains.map(chainLine), ...deletions, ...gone, 'COMMIT'];
  });
}

export const IPVS_FOOTPRINT: Footprint = footprint({ nat: ownChains('nat'), filter: ownChains('filter') }, JUMPS);

function ownChains(table: Table): readonly string[] {
  return table === 'nat' ? [...CHAINS.nat, LOCAL_CLIENTS_CHAIN] : CHAINS.filter;
}

/** Creates the chain, or empties it if it exists. */
function chainLine(chain: string): string {
  return `:${chain} - [0:0]`;
}
