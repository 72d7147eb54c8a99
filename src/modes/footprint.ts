// The names that a mode uses in the tables of iptables. Modes share some of them, so whoever cleans up after one mode while another
// runs must know what to leave.

export interface Footprint {
  /** `nat KUBE-SERVICES` */
  readonly chains: ReadonlySet<string>;
  /** `nat OUTPUT -m comment … -j KUBE-SERVICES` */
  readonly jumps: ReadonlySet<string>;
}

export const NO_FOOTPRINT: Footprint = { chains: new Set(), jumps: new Set() };

interface Jump {
  readonly table: string;
  readonly from: string;
  readonly rule: string;
}

export function footprint(chains: Readonly<Record<string, readonly string[]>>, jumps: readonly Jump[]): Footprint {
  return {
    chains: new Set(Object.entries(chains).flatMap(([table, names]) => names.map((chain) => `${table} ${chain}`))),
    jumps: new Set(jumps.map(jumpKey)),
  };
}

export function keepsChain({ chains }: Footprint, table: string, chain: string): boolean {
  return chains.has(`${table} ${chain}`);
}

export function keepsJump({ jumps }: Footprint, jump: Jump): boolean {
  return jumps.has(jumpKey(jump));
}

function jumpKey({ table, from, rule }: Jump): string {
  return `${table} ${from} ${rule}`;
}
