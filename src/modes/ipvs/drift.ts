// What foreign hands did to IPVS state, as far as a cheap look tells: the kernel reports no such changes by itself.
import { type Family, familyOf } from '../../lib/ip.ts';
import type { IpvsDrivers } from './apply.ts';
import { boundAddresses } from './apply.ts';
import { serverKey } from './part.ts';
import type { IpvsPlan } from './plan.ts';

/** A line for people, or undefined if everything that was looked at is there. Servers that are not ours are nobody's business. */
export async function foundMissing(drivers: IpvsDrivers, plan: IpvsPlan): Promise<string | undefined> {
  const { family, ipvs, links, iptables } = drivers;
  const servers = new Set((await ipvs.servers()).filter((server) => isOf(family, server.ip)).map(serverKey));
  for (const key of plan.wanted.servers.keys()) if (!servers.has(key)) return `virtual server ${key} is gone`;
  const bound = new Set(await boundAddresses(links, family));
  for (const ip of plan.wanted.addresses.keys()) if (!bound.has(ip)) return `address ${ip} is gone`;
  for (const [table, chain] of WATCHED_CHAINS)
    if ((await iptables.hasChain(table, chain)) === 'no') return `chain ${chain} of table ${table} is gone`;
  return undefined;
}

const WATCHED_CHAINS = [
  ['nat', 'KUBE-LOAD-BALANCER'],
  ['filter', 'KUBE-IPVS-FILTER'],
] as const;

function isOf(family: Family, ip: string): boolean {
  return familyOf(ip) === family;
}
