// In: the addresses of the Node object and the configuration.  Out: this node's address in each family, and the addresses
// on which it takes node ports.
import {
  cidrAddress,
  cidrContains,
  type Family,
  familyOf,
  hostCidr,
  isLoopback,
  parseCidr,
  parseIp,
  zeroCidr,
} from '../lib/ip.ts';

export interface NodeAddresses {
  readonly primary: Family;
  /** Loopback where it is unknown. */
  readonly ips: Readonly<Record<Family, string>>;
}

/** `ips`: of the Node object, in order. A bind address that is a specific one overrides its family's, and the primary. */
export function nodeAddresses(ips: readonly string[], bindAddress: string): NodeAddresses {
  const found: Record<Family, string> = { IPv4: '127.0.0.1', IPv6: '::1' };
  const first = ips[0];
  const second = first === undefined ? undefined : ips.find((ip) => familyOf(ip) !== familyOf(first));
  for (const ip of [first, second]) if (ip !== undefined) found[familyOf(ip)] = ip;
  let primary: Family = first === undefined ? 'IPv4' : familyOf(first);

  const bound = parseIp(bindAddress);
  if (bound !== undefined && bound !== '0.0.0.0' && bound !== '::') {
    primary = familyOf(bound);
    found[primary] = bound;
  }
  return { primary, ips: found };
}

/** Where one family takes node ports: as networks, before they are matched with the addresses of interfaces. */
export interface NodePortNetworks {
  readonly cidrs: readonly string[];
  readonly matchAll: boolean;
  readonly containsIPv4Loopback: boolean;
}

/** `setting`: networks of both families as operators write them (`192.168.1.7/24` is a network too), or the word `primary`. */
export function nodePortNetworks(
  setting: readonly string[],
  addresses: NodeAddresses,
  family: Family,
): NodePortNetworks {
  const cidrs = withPrimaryExpanded(setting, addresses).flatMap((cidr) => parseCidr(cidr) ?? []);
  // A family of which nothing is said takes node ports on all its addresses, even if something is said of the other.
  const ofFamily = cidrs.filter((cidr) => familyOf(cidr) === family);
  const kept = ofFamily.length > 0 ? ofFamily : [zeroCidr(family)];
  return {
    cidrs: kept,
    matchAll: kept.some((cidr) => cidr.endsWith('/0')),
    containsIPv4Loopback:
      kept.some((cidr) => isLoopback(cidrAddress(cidr)) || cidrContains(cidr, '127.0.0.0')) && family === 'IPv4',
  };
}

/** The word `primary` replaced by the node's addresses, as far as they are known. */
export function withPrimaryExpanded(setting: readonly string[], addresses: NodeAddresses): readonly string[] {
  if (!setting.includes('primary')) return setting;
  return Object.values(addresses.ips)
    .filter((ip) => !isLoopback(ip))
    .map(hostCidr);
}

/** The addresses among a host's own on which node ports are taken, without repetition, sorted. */
export function nodePortIps({ cidrs }: NodePortNetworks, hostIps: Iterable<string>): readonly string[] {
  return [...new Set(hostIps)].filter((ip) => cidrs.some((cidr) => cidrContains(cidr, ip))).sort();
}
