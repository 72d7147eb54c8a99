// Looking into sets of ipset as the kernel does: a key is made of the packet's ends, for each part of the set's type from the end
// that the rule names.
import { cidrContains, hostCidr } from '../../lib/ip.ts';
import type { Travelling } from './judge.ts';
import type { IpSet } from './ruleset.ts';

/** Undefined: the packet does not tell, or sets of this type are not known here. */
export function isInIpSet(set: IpSet, directions: readonly string[], packet: Travelling): boolean | undefined {
  const parts = partsOf(set.type);
  if (!parts || parts.length > directions.length) return undefined;
  const values = parts.map((part, i) => partOf(part, directions[i]!, set.type, packet));
  if (values.includes(undefined)) return undefined;
  const last = parts.length - 1;
  if (parts[last] !== 'net') return set.entries.has(values.join());
  const networks = networksOf(set).get(values.slice(0, last).join()) ?? [];
  return networks.some((cidr) => cidrContains(cidr, values[last]!));
}

/** Networks are understood as the last part, which is where most types have them. */
function partsOf(type: string): readonly string[] | undefined {
  const parts = type.slice(type.indexOf(':') + 1).split(',');
  const isKnown = parts.every((part, i) => KNOWN.has(part) && (part !== 'net' || i === parts.length - 1));
  return isKnown ? parts : undefined;
}

const KNOWN = new Set(['ip', 'port', 'net']);

function partOf(part: string, direction: string, type: string, packet: Travelling): string | undefined {
  const isSource = direction === 'src';
  if (part !== 'port') return isSource ? packet.src : packet.dst;
  const port = isSource ? packet.srcPort : packet.dstPort;
  if (port === undefined) return undefined;
  return type.startsWith('bitmap:') ? String(port) : `${packet.protocol}:${port}`;
}

const indexes = new WeakMap<IpSet, ReadonlyMap<string, readonly string[]>>();

/** The networks of a set's entries, by what stands in front of them. */
function networksOf(set: IpSet): ReadonlyMap<string, readonly string[]> {
  const known = indexes.get(set);
  if (known) return known;
  const index = new Map<string, string[]>();
  for (const entry of set.entries) {
    const comma = entry.lastIndexOf(',');
    const network = entry.slice(comma + 1);
    const key = comma < 0 ? '' : entry.slice(0, comma);
    const networks = index.get(key) ?? [];
    networks.push(network.includes('/') ? network : hostCidr(network));
    index.set(key, networks);
  }
  indexes.set(set, index);
  return index;
}
