// Removes what modes have left on this host, and nothing else. Every part is tried, also after one that failed.
import { Conntrack } from '../kernel/conntrack.ts';
import { legacyTables } from '../kernel/host.ts';
import { IpSets } from '../kernel/ipset.ts';
import { Iptables, type IptablesVariant } from '../kernel/iptables.ts';
import { Ipvs } from '../kernel/ipvs.ts';
import type { ServerKey } from '../kernel/ipvs-codec.ts';
import { Links } from '../kernel/links.ts';
import { Nftables } from '../kernel/nftables.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { FAMILIES, type Family, hostPort } from '../lib/ip.ts';
import { type Footprint, NO_FOOTPRINT } from '../modes/footprint.ts';
import { IPTABLES_FOOTPRINT, removeRules } from '../modes/iptables/cleanup.ts';
import { IPVS_FOOTPRINT } from '../modes/ipvs/chains.ts';
import { type CleanupDrivers, removeIpvs, removeIpvsRules, retireIpvs } from '../modes/ipvs/cleanup.ts';
import type { ModeName } from '../modes/mode.ts';
import { deleteTable } from '../modes/nftables/apply.ts';
import { STAND_IN_NAME, TABLE_NAME } from '../modes/nftables/names.ts';
import { removeRules as removeUserspaceRules } from '../modes/userspace/apply.ts';
import type { Log } from '../observe/log.ts';

/** The mode that runs, if one does: its own rules stay. */
interface Running {
  readonly mode: ModeName;
  readonly variant: IptablesVariant;
}

interface Part {
  readonly mode: ModeName;
  readonly name: string;
  readonly remove: () => Promise<void>;
}

/** `kube-proxy --cleanup`. True if everything that was there could be removed. */
export async function cleanUp(log: Log): Promise<boolean> {
  return removeAll(await parts(removeIpvs), log);
}

/** After the first sync of a mode: what another one left would go on catching packets. Done only now that the new rules stand, so
 *  that no packet meets neither. Upstream's kube-proxy does it before, and leaves iptables and IPVS rules to each other. */
export async function removeOtherModes(running: Running, log: Log, clock: Clock = systemClock): Promise<void> {
  const retire = (drivers: CleanupDrivers): Promise<void> => retireWhenIdle(drivers, log, clock);
  await removeAll(
    (await parts(retire, running)).filter(({ mode }) => mode !== running.mode),
    log,
  );
}

const RETIRE_CHECK_MS = 5000;

/** Resolves when no rule leads to IPVS any more. What open connections need of it goes when they have ended. */
async function retireWhenIdle(drivers: CleanupDrivers, log: Log, clock: Clock): Promise<void> {
  await removeIpvsRules(drivers);
  const connections = await retireIpvs(drivers, { forgetFlows });
  if (connections === 0) return;
  log.info('Connections that IPVS mode began are left to end; the rest of it goes with them', { connections });
  void retireRest(drivers, log, clock);
}

async function retireRest(drivers: CleanupDrivers, log: Log, clock: Clock): Promise<void> {
  let isLeft = true;
  for (let failure = ''; isLeft; ) {
    await clock.wait(RETIRE_CHECK_MS);
    try {
      isLeft = (await retireIpvs(drivers, { forgetFlows })) > 0;
      failure = '';
    } catch (error) {
      if (String(error) !== failure) log.error(error, 'Could not remove what is left of IPVS mode; trying on');
      failure = String(error);
    }
  }
  log.info('Nothing of IPVS mode is left');
}

async function forgetFlows(servers: readonly ServerKey[]): Promise<void> {
  if (servers.length === 0) return;
  const dialled = new Set(servers.map(({ ip, port }) => hostPort(ip, port)));
  const conntrack = new Conntrack();
  try {
    for (const family of FAMILIES) {
      await conntrack.deleteFlows(family, 'udp', ({ original: { destination, destinationPort } }) =>
        dialled.has(hostPort(destination, destinationPort)),
      );
    }
  } finally {
    conntrack.close();
  }
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

/** IPVS mode first: its rules refer to chains that iptables mode has too. */
async function parts(
  removeIpvsFrom: (drivers: CleanupDrivers) => Promise<void>,
  running?: Running,
): Promise<readonly Part[]> {
  const iptables = await usableIptables(running?.variant);
  const keep = (each: Iptables): Footprint => footprintOf(running, each);
  return [
    { mode: 'ipvs', name: 'IPVS', remove: () => removeIpvsMode(removeIpvsFrom, iptables, keep) },
    ...iptables.map(
      (each): Part => ({ mode: 'iptables', name: each.name, remove: () => removeRules(each, keep(each)) }),
    ),
    ...iptables.map((each): Part => ({ mode: 'userspace', name: each.name, remove: () => removeUserspaceRules(each) })),
    ...FAMILIES.map(nftablesPart),
  ];
}

async function usableIptables(variant: IptablesVariant = 'nft'): Promise<readonly Iptables[]> {
  const all = FAMILIES.flatMap((family) => [
    new Iptables(family, variant === 'auto' ? 'auto' : 'nft'),
    // To ask legacy iptables for a table is to make it, so a host without any is left alone.
    ...(legacyTables(family).length > 0 ? [new Iptables(family, 'legacy')] : []),
  ]);
  const problems = await Promise.all(all.map((each) => each.unusableBecause()));
  return all.filter((_, i) => problems[i] === undefined);
}

function footprintOf(running: Running | undefined, iptables: Iptables): Footprint {
  if (!running || iptables.variant !== running.variant) return NO_FOOTPRINT;
  return running.mode === 'iptables' ? IPTABLES_FOOTPRINT : running.mode === 'ipvs' ? IPVS_FOOTPRINT : NO_FOOTPRINT;
}

async function removeIpvsMode(
  remove: (drivers: CleanupDrivers) => Promise<void>,
  iptables: readonly Iptables[],
  keep: (iptables: Iptables) => Footprint,
): Promise<void> {
  const sets = new IpSets();
  if ((await sets.unusableBecause()) !== undefined) return; // a kernel without sets has nothing of IPVS mode
  await remove({ ipvs: await Ipvs.open(), sets, links: new Links(), iptables, keep });
}

function nftablesPart(family: Family): Part {
  return {
    mode: 'nftables',
    name: `nftables table ${TABLE_NAME} (${family})`,
    remove: async () => {
      const nftables = new Nftables();
      try {
        for (const name of [TABLE_NAME, STAND_IN_NAME]) await deleteTable(nftables, { family, name });
      } finally {
        nftables.close();
      }
    },
  };
}
