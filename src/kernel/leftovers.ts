// What a kube-proxy of another mode, or of the other iptables, left on this host. Such rules catch packets before ours do,
// with endpoints as they were when that proxy stopped. In: the mode and variant in use. Out: findings as data, and in words
// with what to do about them. Nothing is changed; what the kernel does not have is passed over in silence.
import { readFileSync } from 'node:fs';
import { FAMILIES, type Family } from '../lib/ip.ts';
import type { ModeName } from '../modes/mode.ts';
import { legacyTables, moduleSupport } from './host.ts';
import { Iptables } from './iptables.ts';
import { Nftables } from './nftables.ts';
import { runProcess } from './process.ts';

export type Leftover =
  | {
      readonly kind: 'iptables';
      readonly variant: 'nft' | 'legacy';
      readonly family: Family;
      /** Chains that only a kube-proxy makes. */
      readonly chains: number;
    }
  | { readonly kind: 'nftables'; readonly family: Family; readonly layout: 'upstream' | 'portolan' }
  | {
      readonly kind: 'ipvs';
      readonly virtualServers: number;
      readonly hasInterface: boolean;
      readonly sets: readonly string[];
    };

export interface InUse {
  readonly mode: ModeName;
  /** The iptables that this mode writes to, in modes that do; undefined if it is not known. */
  readonly variant?: 'nft' | 'legacy' | undefined;
}

export const NFTABLES_TABLE = 'kube-proxy';
const IPVS_INTERFACE = 'kube-ipvs0';

export async function findLeftovers(inUse: InUse): Promise<readonly Leftover[]> {
  return [
    ...(await iptablesLeftovers(inUse)),
    ...(inUse.mode === 'nftables' ? [] : await nftablesLeftovers()),
    ...(inUse.mode === 'ipvs' ? [] : await ipvsLeftovers()),
  ];
}

/** What it does to traffic, and what to run. */
export function describeLeftover(leftover: Leftover): string {
  switch (leftover.kind) {
    case 'iptables': {
      const program = `${leftover.family === 'IPv4' ? 'iptables' : 'ip6tables'}-${leftover.variant}`;
      return `${program} holds ${leftover.chains} chains of a kube-proxy that are not in use and may catch traffic. If no other kube-proxy runs here, remove them: ${program}-save | grep -v KUBE- | ${program}-restore`;
    }
    case 'nftables': {
      const family = leftover.family === 'IPv4' ? 'ip' : 'ip6';
      const whose = leftover.layout === 'upstream' ? "upstream's kube-proxy" : 'Portolan';
      return `nftables has a table ${NFTABLES_TABLE} (${family}) of ${whose} in nftables mode that is not in use and may catch traffic. If no other kube-proxy runs here, remove it: nft delete table ${family} ${NFTABLES_TABLE}`;
    }
    case 'ipvs': {
      const parts = [
        ...(leftover.hasInterface ? [`interface ${IPVS_INTERFACE}`] : []),
        ...(leftover.virtualServers > 0 ? [`${leftover.virtualServers} virtual servers`] : []),
        ...(leftover.sets.length > 0 ? [`${leftover.sets.length} ipsets`] : []),
      ];
      return `IPVS mode left ${parts.join(', ')}: service addresses are this host's own until they go. If no other kube-proxy runs here, remove them: kube-proxy --cleanup`;
    }
  }
}

async function iptablesLeftovers({ mode, variant }: InUse): Promise<readonly Leftover[]> {
  if (mode !== 'nftables' && variant === undefined) return []; // rules found could be our own
  const found: Leftover[] = [];
  for (const other of ['nft', 'legacy'] as const) {
    if (mode !== 'nftables' && other === variant) continue;
    for (const family of FAMILIES) {
      const chains = proxyChains(await savedText(other, family)).length;
      if (chains > 0) found.push({ kind: 'iptables', variant: other, family, chains });
    }
  }
  return found;
}

/** '' where this variant is not installed or not in the kernel. */
async function savedText(variant: 'nft' | 'legacy', family: Family): Promise<string> {
  if (variant === 'legacy' && legacyTables(family).length === 0) return '';
  try {
    return await new Iptables(family, variant).save();
  } catch {
    return '';
  }
}

/** kubelet makes these itself, in any mode. */
const KUBELET_CHAINS = /^KUBE-(FIREWALL|MARK-DROP|KUBELET-CANARY|IPTABLES-HINT)$/;

/** In: the text of iptables-save. Out: the names of the chains that only a kube-proxy makes, in all tables. */
export function proxyChains(saved: string): readonly string[] {
  const names = [...saved.matchAll(/^:(KUBE-\S+) /gm)].map((match) => match[1]!);
  return names.filter((name) => !KUBELET_CHAINS.test(name));
}

async function nftablesLeftovers(): Promise<readonly Leftover[]> {
  let nftables: Nftables | undefined;
  try {
    nftables = new Nftables();
    const found: Leftover[] = [];
    for (const family of FAMILIES) {
      const table = { family, name: NFTABLES_TABLE };
      if (!(await nftables.getTable(table))) continue;
      const chains = await nftables.listChains(table);
      // Upstream names a chain after each service and endpoint, with slashes; no other name has them.
      const layout = chains.some(({ name }) => name.includes('/')) ? 'upstream' : 'portolan';
      found.push({ kind: 'nftables', family, layout });
    }
    return found;
  } catch {
    return []; // no nftables in the kernel, or no right to it: whatever mode runs will say so itself
  } finally {
    nftables?.close();
  }
}

async function ipvsLeftovers(): Promise<readonly Leftover[]> {
  const hasInterface = textOf('/proc/net/dev').includes(`${IPVS_INTERFACE}:`);
  const sets = await kubeSets();
  // Virtual servers without either are somebody else's.
  if (!hasInterface && sets.length === 0) return [];
  return [{ kind: 'ipvs', virtualServers: countVirtualServers(textOf('/proc/net/ip_vs')), hasInterface, sets }];
}

/** Lines of /proc/net/ip_vs: `TCP  0A600001:01BB rr`; those of destinations begin with an arrow. */
export function countVirtualServers(text: string): number {
  return [...text.matchAll(/^(TCP|UDP|SCTP|FWM) /gm)].length;
}

async function kubeSets(): Promise<readonly string[]> {
  if (moduleSupport('ip_set') !== 'present') return []; // to ask would load it
  try {
    const { stdout } = await runProcess('ipset', ['list', '-name']);
    return stdout.split('\n').filter((name) => name.startsWith('KUBE-'));
  } catch {
    return []; // ipset is not installed
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
