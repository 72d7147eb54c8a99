// Removes everything of IPVS mode, of both families, and nothing of others: virtual servers that are not ours stay, as does
// a device of our name that is no dummy. Settings of the kernel keep their values.
//
// At once, or, when another mode has taken over, without cutting a connection: one that IPVS began can be carried by nobody else, since
// the kernel looks at rules for the first packet of a connection only. It needs its virtual server, and the Service's address on this
// node; no rules. So these stay until it has ended.

import type { IpSets } from '../../kernel/ipset.ts';
import type { Iptables } from '../../kernel/iptables.ts';
import type { Ipvs } from '../../kernel/ipvs.ts';
import type { ServerKey } from '../../kernel/ipvs-codec.ts';
import type { Links } from '../../kernel/links.ts';
import { deleteAddress } from '../../kernel/links-codec.ts';
import { FAMILIES, type Family, familyOf } from '../../lib/ip.ts';
import type { Footprint } from '../footprint.ts';
import { boundAddresses, DEVICE, heldSets } from './apply.ts';
import { heldChains, removalLines } from './chains.ts';
import { type IpvsState, ownership } from './diff.ts';
import { kernelSet } from './sets.ts';

export interface StateDrivers {
  /** Undefined where the kernel has none; what it held went with it. */
  readonly ipvs: Ipvs | undefined;
  readonly sets: IpSets;
  readonly links: Links;
}

export interface CleanupDrivers extends StateDrivers {
  /** Every usable one: rules may be in either variant. */
  readonly iptables: readonly Iptables[];
  /** What the mode that runs now uses, in one of them. */
  readonly keep?: (iptables: Iptables) => Footprint;
}

export async function removeIpvs(drivers: CleanupDrivers): Promise<void> {
  await removeIpvsRules(drivers);
  const held = await ours(drivers);
  await deleteServers(drivers, held.servers);
  await deleteRest(drivers, held);
}

/** Before the servers: while these rules stand, packets may still be led to them. */
export async function removeIpvsRules({ iptables, keep }: CleanupDrivers): Promise<void> {
  for (const each of iptables) await each.restore(removalLines(heldChains(await each.save()), keep?.(each)));
}

export interface RetireOptions {
  /** UDP has no end: the flows of these servers are to be forgotten, so that their next packets are led by the rules that stand now. */
  readonly forgetFlows: (servers: readonly ServerKey[]) => Promise<void>;
}

/** Once no rule leads to IPVS: deletes the servers without connections, and the rest when there are no others. Resolves to how many
 *  connections there still are; to be asked again until there are none. */
export async function retireIpvs(drivers: StateDrivers, { forgetFlows }: RetireOptions): Promise<number> {
  const held = await ours(drivers);
  await forgetFlows(held.servers.filter(({ protocol }) => protocol === 'UDP'));
  const busy = await busyServers(drivers, held.servers);
  await deleteServers(
    drivers,
    held.servers.filter((server) => !busy.has(server)),
  );
  if (busy.size === 0) await deleteRest(drivers, held);
  else await deleteAddressesBut(drivers, held, new Set([...busy.keys()].map(({ ip }) => ip)));
  return [...busy.values()].reduce((sum, connections) => sum + connections, 0);
}

/** What is ours is told by our sets and our device, so these go last. */
interface Ours {
  readonly families: readonly ({ readonly family: Family } & Pick<IpvsState, 'sets' | 'addresses'>)[];
  readonly servers: readonly ServerKey[];
}

async function ours({ ipvs, sets, links }: StateDrivers): Promise<Ours> {
  const families = await Promise.all(
    FAMILIES.map(async (family) => ({
      family,
      sets: await heldSets(sets, family),
      addresses: await boundAddresses(links, family),
    })),
  );
  const all = (await ipvs?.servers()) ?? [];
  const servers = families.flatMap((state) => {
    const isOurs = ownership(state);
    return all.filter((server) => familyOf(server.ip) === state.family && isOurs(server));
  });
  return { families, servers };
}

/** Those with connections that may still carry something, and how many; the kernel remembers ended ones for a while. */
async function busyServers(
  { ipvs }: StateDrivers,
  servers: readonly ServerKey[],
): Promise<ReadonlyMap<ServerKey, number>> {
  const busy = new Map<ServerKey, number>();
  for (const server of servers.filter(({ protocol }) => protocol !== 'UDP')) {
    const backends = (await ipvs?.backends(server)) ?? [];
    const connections = backends.reduce((sum, { activeConnections: a, inactiveConnections: b }) => sum + a + b, 0);
    if (connections > 0) busy.set(server, connections);
  }
  return busy;
}

async function deleteServers({ ipvs }: StateDrivers, servers: readonly ServerKey[]): Promise<void> {
  await ipvs?.send(servers.map((server) => ipvs.requests.deleteServer(server)));
}

async function deleteAddressesBut({ links }: StateDrivers, { families }: Ours, kept: ReadonlySet<string>) {
  const device = await links.device(DEVICE);
  const gone = families.flatMap(({ addresses }) => addresses.filter((ip) => !kept.has(ip)));
  if (device) await links.send(gone.map((ip) => deleteAddress(device, ip)));
}

async function deleteRest({ sets, links }: StateDrivers, { families }: Ours): Promise<void> {
  const device = await links.device(DEVICE);
  if (device?.kind === 'dummy') await links.deleteDevice(device);
  await sets.destroy(families.flatMap((state) => [...state.sets.keys()].map((name) => kernelSet(name, state.family))));
}
