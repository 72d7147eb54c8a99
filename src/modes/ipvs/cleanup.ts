// Removes everything of IPVS mode, of both families, and nothing of others: virtual servers that are not ours stay, as does
// a device of our name that is no dummy. Settings of the kernel keep their values.

import type { IpSets } from '../../kernel/ipset.ts';
import type { Iptables } from '../../kernel/iptables.ts';
import type { Ipvs } from '../../kernel/ipvs.ts';
import type { Links } from '../../kernel/links.ts';
import { FAMILIES, familyOf } from '../../lib/ip.ts';
import type { Footprint } from '../footprint.ts';
import { boundAddresses, DEVICE, heldSets } from './apply.ts';
import { heldChains, removalLines } from './chains.ts';
import { ownership } from './diff.ts';
import { kernelSet } from './sets.ts';

export interface CleanupDrivers {
  /** Undefined where the kernel has none; what it held went with it. */
  readonly ipvs: Ipvs | undefined;
  readonly sets: IpSets;
  readonly links: Links;
  /** Every usable one: rules may be in either variant. */
  readonly iptables: readonly Iptables[];
  /** What the mode that runs now uses, in one of them. */
  readonly keep?: (iptables: Iptables) => Footprint;
}

/** What is ours is told by our sets and our device, so these go last; and the rules before the sets that they refer to. */
export async function removeIpvs({ ipvs, sets, links, iptables, keep }: CleanupDrivers): Promise<void> {
  const held = await Promise.all(
    FAMILIES.map(async (family) => ({
      family,
      sets: await heldSets(sets, family),
      addresses: await boundAddresses(links, family),
    })),
  );
  if (ipvs) {
    const servers = await ipvs.servers();
    const ours = held.flatMap((state) => {
      const isOurs = ownership(state);
      return servers.filter((server) => familyOf(server.ip) === state.family && isOurs(server));
    });
    await ipvs.send(ours.map((server) => ipvs.requests.deleteServer(server)));
  }
  for (const each of iptables) await each.restore(removalLines(heldChains(await each.save()), keep?.(each)));
  const device = await links.device(DEVICE);
  if (device?.kind === 'dummy') await links.deleteDevice(device);
  await sets.destroy(held.flatMap((state) => [...state.sets.keys()].map((name) => kernelSet(name, state.family))));
}
