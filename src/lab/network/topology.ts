// A network as data: hosts, the cables between them, addresses and routes. In: a Topology. Out: lines for `ip -batch`.
// Addresses and routes hang on a cable's end, so that a pod's cable brings the node's route to the pod with it, and takes
// it away when the pod goes.

export interface Topology {
  readonly hosts: readonly Host[];
  /** A cable may lead to a host that was there before. */
  readonly links: readonly Link[];
}

export interface Host {
  readonly name: string;
  /** It runs a proxy: a probe calls its addresses `node`. */
  readonly isProxied?: boolean;
  /** Ports on which it answers TCP and UDP in both families. */
  readonly serves?: readonly number[];
  /** Paths under net/ and their values: `{'ipv4/ip_forward': '1'}`. */
  readonly sysctls?: Readonly<Record<string, string>>;
  /** In the words of `ip rule add`, made in both families. */
  readonly rules?: readonly string[];
}

export type Link = readonly [End, End];

export interface End {
  readonly host: string;
  readonly device: string;
  /** `10.244.1.11/32` */
  readonly addresses?: readonly string[];
  /** In the words of `ip route add`, without the device where that is this one. */
  readonly routes?: readonly string[];
}

/** What every host is given. Neighbours are known at once (no duplicate detection), nobody is told of a shorter way
 *  (packets must pass where the proxy is, also back through the interface they came from), and an ICMP error is sent for
 *  every packet that earns one. */
export const COMMON_SYSCTLS: Readonly<Record<string, string>> = {
  'ipv4/conf/all/rp_filter': '0',
  'ipv4/conf/default/rp_filter': '0',
  'ipv4/conf/all/send_redirects': '0',
  'ipv4/conf/default/send_redirects': '0',
  'ipv4/conf/all/accept_redirects': '0',
  'ipv4/conf/default/accept_redirects': '0',
  'ipv4/icmp_ratemask': '0',
  'ipv6/conf/default/accept_redirects': '0',
  'ipv6/conf/default/accept_ra': '0',
  'ipv6/conf/default/accept_dad': '0',
  'ipv6/icmp/ratemask': '',
};

/** To be run before sysctls are set: an interface copies them when it is made. */
export function hostLines({ hosts }: Topology): string[] {
  return hosts.map((host) => `netns add ${host.name}`);
}

export function linkLines({ links }: Topology): string[] {
  return links.map(([a, b]) => `link add ${a.device} netns ${a.host} type veth peer name ${b.device} netns ${b.host}`);
}

/** What is to be run in each host, once the cables are there. */
export function linesByHost({ hosts, links }: Topology): Map<string, string[]> {
  const lines = new Map(hosts.map((host) => [host.name, ['link set lo up']]));
  const ends = links.flat();
  const add = (host: string, more: readonly string[]) => lines.set(host, [...(lines.get(host) ?? []), ...more]);
  for (const end of ends) add(end.host, upLines(end));
  for (const end of ends) add(end.host, routeLines(end));
  return lines;
}

/** To be run for each family: a rule itself does not tell its own. */
export function ruleLines(host: Host): string[] {
  return (host.rules ?? []).map((rule) => `rule add ${rule}`);
}

function upLines({ device, addresses = [] }: End): string[] {
  return [
    `link set ${device} up`,
    ...addresses.map((address) => `addr add ${address} dev ${device}${address.includes(':') ? ' nodad' : ''}`),
  ];
}

function routeLines({ device, routes = [] }: End): string[] {
  return routes.map((route) => `route add ${route}${/\bdev\b/.test(route) ? '' : ` dev ${device}`}`);
}
