// The effects of iptables mode: reading what stands, and handing text to iptables-restore.
import type { Iptables } from '../../kernel/iptables.ts';
import type { IptablesChange, KernelState } from './diff.ts';
import { JUMPS, type Table } from './jumps.ts';

export async function read(iptables: Iptables): Promise<KernelState> {
  return kernelState(await iptables.save());
}

export async function apply(iptables: Iptables, change: IptablesChange): Promise<void> {
  for (const batch of change.ahead) await iptables.restore(batch);
  await iptables.restore(change.lines);
}

/** What the text of iptables-save tells. Pure. */
export function kernelState(save: string): KernelState {
  const chains: Record<Table, Set<string>> = { mangle: new Set(), filter: new Set(), nat: new Set() };
  const jumps = new Set<number>();
  let table = '';
  for (const line of save.split('\n')) {
    if (line.startsWith('*')) table = line.slice(1);
    else if (line.startsWith(':') && table in chains) chains[table as Table].add(line.slice(1, line.indexOf(' ')));
    else if (line.startsWith('-A ') && !line.startsWith('-A KUBE-')) {
      const index = JUMPS.findIndex((jump) => jump.table === table && line === `-A ${jump.from} ${jump.rule}`);
      if (index >= 0) jumps.add(index);
    }
  }
  return { kind: 'read', chains, jumps };
}
