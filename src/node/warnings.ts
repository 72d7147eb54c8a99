// In: the configuration, what the Node says, what was probed of the host.  Out: the IP families to serve, and what is wrong
// with the configuration, in the words that operators of kube-proxy know.
import type { ProxyConfiguration } from '../config/configuration.ts';
import { aggregated } from '../config/problems.ts';
import { FAMILIES, type Family, familyOf, isLoopback, otherFamily, parseCidr, parseIp } from '../lib/ip.ts';
import { isAtLeast } from '../lib/version.ts';
import { type NodeAddresses, withPrimaryExpanded } from './addresses.ts';
import type { NodeSettings } from './facts.ts';

/** What the host can do, per family. */
export interface FamilyProbes {
  readonly mode: ProxyConfiguration['mode'];
  readonly addresses: NodeAddresses;
  /** Why the iptables program of a family cannot be used; absent if it can. Of no weight in nftables mode. */
  readonly iptablesProblems: Partial<Readonly<Record<Family, string>>>;
  readonly ipv6: 'usable' | 'absent' | 'disabled';
}

export type FamilyDecision =
  | { readonly kind: 'fatal'; readonly message: string; readonly notes: readonly FamilyNote[] }
  | {
      readonly kind: 'serve';
      /** The primary one first. */
      readonly families: readonly Family[];
      readonly isDualStack: boolean;
      readonly notes: readonly FamilyNote[];
    };

/** A line for the log. */
export interface FamilyNote {
  readonly message: string;
  readonly values: Readonly<Record<string, string>>;
}

/** Both families are served wherever the host can, also in clusters that use one. */
export function familiesToServe(probes: FamilyProbes): FamilyDecision {
  const { primary } = probes.addresses;
  const notes: FamilyNote[] = [];
  const needsIptables = probes.mode !== 'nftables';
  const problems = needsIptables ? probes.iptablesProblems : {};
  if (problems.IPv4 !== undefined && problems.IPv6 !== undefined) {
    return { kind: 'fatal', message: `iptables is not available on this host : ${problems.IPv4}`, notes };
  }
  const supported = FAMILIES.filter((family) => {
    const note = unsupportedNote(family, problems[family], probes.ipv6) ?? unreachableNote(family, probes);
    if (note) notes.push(note);
    return note === undefined;
  });
  if (!supported.includes(primary)) {
    return { kind: 'fatal', message: `no support for primary IP family "${primary}"`, notes };
  }
  const isDualStack = supported.length === 2;
  const families = isDualStack ? [primary, otherFamily(primary)] : [primary];
  notes.push(
    isDualStack
      ? { message: 'kube-proxy running in dual-stack mode', values: { 'primary ipFamily': primary } }
      : { message: 'kube-proxy running in single-stack mode', values: { ipFamily: primary } },
  );
  return { kind: 'serve', families, isDualStack, notes };
}

function unsupportedNote(
  family: Family,
  iptablesProblem: string | undefined,
  ipv6: FamilyProbes['ipv6'],
): FamilyNote | undefined {
  if (iptablesProblem !== undefined)
    return { message: 'No iptables support for family', values: { ipFamily: family, err: iptablesProblem } };
  if (family === 'IPv4' || ipv6 === 'usable') return undefined;
  const message = ipv6 === 'absent' ? 'No kernel support for family' : 'Kernel support disabled for family';
  return { message, values: { ipFamily: family } };
}

/** The node's own connections are led to relays by its address. Without one in the primary family nothing can be relayed, which is
 *  said when that is tried. */
function unreachableNote(family: Family, { mode, addresses }: FamilyProbes): FamilyNote | undefined {
  if (mode !== 'userspace' || family === addresses.primary || !isLoopback(addresses.ips[family])) return undefined;
  return { message: 'No address of this node for family', values: { ipFamily: family } };
}

/** The kernel that upstream asks for: nftables before it lacks what its rules need, or has bugs that they meet. */
export const NFTABLES_KERNEL = '5.13';

/** Why nftables mode cannot run on this kernel; undefined if it can, or if the environment says not to ask. */
export function nftablesProblem(kernelVersion: string, env: NodeJS.ProcessEnv): string | undefined {
  if (env.KUBE_PROXY_NFTABLES_SKIP_KERNEL_VERSION_CHECK || isAtLeast(kernelVersion, NFTABLES_KERNEL)) return undefined;
  return `kube-proxy in nftables mode requires kernel ${NFTABLES_KERNEL} or later`;
}

/** The message of the log line that carries the texts below. */
export const QUESTIONABLE = 'Kube-proxy configuration may be incomplete or incorrect';

/** Whether node ports are taken on more addresses than somebody may have meant. */
export function nodePortWarnings({ configuration, addresses, podCIDRs }: NodeSettings): readonly string[] {
  const { primary } = addresses;
  const networks = withPrimaryExpanded(configuration.nodePortAddresses, addresses);
  if (networks.length === 0) {
    return [
      'nodePortAddresses is unset; NodePort connections will be accepted on all local IPs. Consider using `--nodeport-addresses primary`',
    ];
  }
  const settings = [configuration.detectLocal.clusterCIDRs, networks, configuration.ipvs.excludeCIDRs, podCIDRs];
  if (settings.some(hasBothFamilies) && isOnly(networks, primary)) {
    return [
      `cluster appears to be dual-stack but nodePortAddresses contains only ${primary} addresses; NodePort connections will be accepted on all local ${otherFamily(primary)} IPs`,
    ];
  }
  if (isOnly(networks, otherFamily(primary))) {
    return [
      `cluster appears to be ${primary}-primary but nodePortAddresses contains only ${otherFamily(primary)} addresses; NodePort connections will be accepted on all local ${primary} IPs`,
    ];
  }
  return [];
}

export interface FamilyProblems {
  readonly texts: readonly string[];
  /** The proxy must not start; `fatalMessage` has the words. */
  readonly isFatal: boolean;
}

/** Settings that are of the wrong family only. */
export function familyProblems(
  { configuration, addresses, podCIDRs }: NodeSettings,
  isDualStack: boolean,
): FamilyProblems {
  const wrong = otherFamily(addresses.primary);
  const cluster = `cluster is ${addresses.primary}-${isDualStack ? 'primary' : 'only'}`;
  const networks = (name: string, cidrs: readonly string[]): string[] =>
    isOnly(cidrs, wrong) ? [`${cluster} but ${name} contains only ${wrong} addresses`] : [];
  const address = (name: string, text: string): string[] =>
    isSpecific(text, wrong) ? [`${cluster} but ${name} is ${wrong}`] : [];

  const { detectLocalMode } = configuration;
  const clusterCIDRs = networks('clusterCIDRs', configuration.detectLocal.clusterCIDRs);
  const nodeCIDRs = networks('node.spec.podCIDRs', podCIDRs);
  // With a second family to fall back on, these do no harm.
  const singleStack = isDualStack
    ? []
    : [
        ...networks('ipvs.excludeCIDRs', configuration.ipvs.excludeCIDRs),
        ...address('healthzBindAddress', hostOf(configuration.healthzBindAddress)),
        ...address('metricsBindAddress', hostOf(configuration.metricsBindAddress)),
      ];
  return {
    texts: [
      ...clusterCIDRs,
      ...nodeCIDRs,
      ...address('winkernel.sourceVip', configuration.winkernel.sourceVip),
      ...singleStack,
    ],
    isFatal:
      (clusterCIDRs.length > 0 && detectLocalMode === 'ClusterCIDR' && !isDualStack) ||
      (nodeCIDRs.length > 0 && detectLocalMode === 'NodeCIDR'),
  };
}

/** What the process ends with. */
export function fatalMessage({ texts }: FamilyProblems): string {
  return `kube-proxy configuration is incorrect: ${aggregated(texts)}`;
}

function hasBothFamilies(cidrs: readonly string[]): boolean {
  const families = new Set(cidrs.map(cidrFamily));
  return FAMILIES.every((family) => families.has(family));
}

function isOnly(cidrs: readonly string[], family: Family): boolean {
  return cidrs.length > 0 && cidrs.every((cidr) => cidrFamily(cidr) === family);
}

function cidrFamily(text: string): Family | undefined {
  const cidr = parseCidr(text.trim());
  return cidr === undefined ? undefined : familyOf(cidr);
}

/** An address of the family that is not the one for `all addresses`. */
function isSpecific(text: string, family: Family): boolean {
  const ip = parseIp(text);
  return ip !== undefined && familyOf(ip) === family && ip !== '0.0.0.0' && ip !== '::';
}

/** The address of `ip:port` or `[ip]:port`. */
function hostOf(bindAddress: string): string {
  return bindAddress.slice(0, bindAddress.lastIndexOf(':')).replace(/^\[|\]$/g, '');
}
