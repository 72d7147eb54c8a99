// Removes what modes have left on this host, and nothing else. Every part is tried, also after one that failed.
import { legacyTables } from '../kernel/host.ts';
import { Iptables } from '../kernel/iptables.ts';
import { Nftables } from '../kernel/nftables.ts';
import { FAMILIES, type Family } from '../lib/ip.ts';
import { removeRules } from '../modes/iptables/cleanup.ts';
import type { ModeName } from '../modes/mode.ts';
import { TABLE_NAME } from '../modes/nftables/names.ts';
import type { Log } from '../observe/log.ts';

interface Part {
  readonly mode: ModeName;
  readonly name: string;
  readonly remove: () => Promise<void>;
}

/** `kube-proxy --cleanup`. True if everything that was there could be removed. */
export async function cleanUp(log: Log): Promise<boolean> {
  const worked = await removeAll(parts(), log);
  if (!worked) log.error('encountered an error while tearing down rules', 'command failed');
  return worked;
}

/** After the first sync of a mode: what another one left would go on catching packets. Upstream's kube-proxy removes
 *  nftables rules when it starts in another mode and iptables rules when it starts in nftables mode, and so do we, but only
 *  when the new rules stand, so that no packet meets neither. */
export async function removeOtherModes(mode: ModeName, log: Log): Promise<void> {
  const isOld = ({ mode: of }: Part): boolean => (mode === 'nftables' ? of !== 'nftables' : of === 'nftables');
  await removeAll(parts().filter(isOld), log);
}

async function removeAll(all: readonly Part[], log: Log): Promise<boolean> {
  let worked = true;
  for (const { name, remove } of all) {
    try {
      await remove();
    } catch (error) {
      worked = false;
      log.error(error, 'Could not remove rules', { part: name });
    }
  }
  return worked;
}

function parts(): readonly Part[] {
  return [
    ...FAMILIES.map((family) => iptablesPart(family, 'nft')),
    // To ask legacy iptables for a table is to make it, so a host without any is left alone.
    ...FAMILIES.filter((family) => legacyTables(family).length > 0).map((family) => iptablesPart(family, 'legacy')),
    ...FAMILIES.map(nftablesPart),
  ];
}

function iptablesPart(family: Family, variant: 'nft' | 'legacy'): Part {
  const iptables = new Iptables(family, variant);
  return {
    mode: 'iptables',
    name: iptables.name,
    remove: async () => {
      if ((await iptables.unusableBecause()) === undefined) await removeRules(iptables);
    },
  };
}

function nftablesPart(family: Family): Part {
  const table = { family, name: TABLE_NAME };
  return {
    mode: 'nftables',
    name: `nftables table ${TABLE_NAME} (${family})`,
    remove: async () => {
      const nftables = new Nftables();
      try {
        if (await nftables.getTable(table)) await nftables.commit(table, [{ op: 'delete-table' }]);
      } finally {
        nftables.close();
      }
    },
  };
}
