// Removes what any mode may have left on this host, and nothing else. Every part is tried, also after one that failed.
import { Iptables } from '../kernel/iptables.ts';
import { FAMILIES } from '../lib/ip.ts';
import { removeRules } from '../modes/iptables/cleanup.ts';
import type { Log } from '../observe/log.ts';

/** True if everything that was there could be removed. */
export async function cleanUp(log: Log): Promise<boolean> {
  let worked = true;
  for (const [part, remove] of parts()) {
    try {
      await remove();
    } catch (error) {
      worked = false;
      log.error(error, 'Could not remove rules', { part });
    }
  }
  if (!worked) log.error('encountered an error while tearing down rules', 'command failed');
  return worked;
}

function* parts(): Generator<readonly [string, () => Promise<void>]> {
  for (const family of FAMILIES) {
    for (const variant of ['nft', 'legacy'] as const) {
      const iptables = new Iptables(family, variant);
      yield [
        iptables.name,
        async () => ((await iptables.unusableBecause()) === undefined ? removeRules(iptables) : undefined),
      ];
    }
  }
}
