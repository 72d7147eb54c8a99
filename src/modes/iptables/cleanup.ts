// Removes everything of iptables mode from one family, and nothing of others. KUBE-FIREWALL stays: kubelet shares it.
import type { Iptables } from '../../kernel/iptables.ts';
import { type Footprint, footprint, keepsChain, keepsJump, NO_FOOTPRINT } from '../footprint.ts';
import { kernelState } from './apply.ts';
import type { KernelState } from './diff.ts';
import { JUMPS, type Table } from './jumps.ts';
import { isServiceChain } from './names.ts';
import { CANARY_CHAIN, chainLine } from './print.ts';

const CHAINS: Readonly<Record<Table, readonly string[]>> = {
  nat: ['KUBE-SERVICES', 'KUBE-NODEPORTS', 'KUBE-POSTROUTING', 'KUBE-MARK-MASQ', CANARY_CHAIN],
  filter: [
    'KUBE-SERVICES',
    'KUBE-EXTERNAL-SERVICES',
    'KUBE-FORWARD',
    'KUBE-NODEPORTS',
    'KUBE-PROXY-FIREWALL',
    CANARY_CHAIN,
  ],
  mangle: [CANARY_CHAIN],
};

const KEPT_CHAIN = 'KUBE-FIREWALL';

export const IPTABLES_FOOTPRINT: Footprint = footprint({ ...CHAINS, filter: [...CHAINS.filter, KEPT_CHAIN] }, JUMPS);

/** `keep`: what the mode that runs now uses. */
export async function removeRules(iptables: Iptables, keep = NO_FOOTPRINT): Promise<void> {
  await iptables.restore(removal(kernelState(await iptables.save()), keep));
}

/** Lines for iptables-restore; none if nothing of ours is there. Pure. */
export function removal(held: KernelState, keep = NO_FOOTPRINT): readonly string[] {
  return (['mangle', 'filter', 'nat'] as const).flatMap((table) => {
    const isOurs = (chain: string): boolean =>
      CHAINS[table].includes(chain) || (table === 'nat' && isServiceChain(chain));
    const jumps = JUMPS.filter(
      (jump, i) => jump.table === table && jump.to !== KEPT_CHAIN && held.jumps.has(i) && !keepsJump(keep, jump),
    );
    const chains = [...held.chains[table]].filter((chain) => isOurs(chain) && !keepsChain(keep, table, chain));
    if (jumps.length + chains.length === 0) return [];
    const deletions = jumps.map(({ from, rule }) => `-D ${from} ${rule}`);
    return [`*${table}`, ...chains.map(chainLine), ...deletions, ...chains.map((chain) => `-X ${chain}`), 'COMMIT'];
  });
}
