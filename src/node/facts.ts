// In: the configuration, who this node is, and what was probed of the machine.  Out: the facts a mode plans with.
import type { ProxyConfiguration } from '../config/configuration.ts';
import { cidrAddress, type Family, isLoopback } from '../lib/ip.ts';
import type { IptablesFacts } from '../modes/iptables/facts.ts';
import type { NftablesFacts } from '../modes/nftables/facts.ts';
import { type NodeAddresses, type NodePortNetworks, nodePortIps, nodePortNetworks } from './addresses.ts';
import { localDetector } from './local-detector.ts';

/** What is fixed for the life of the process, in one family. */
export interface NodeSettings {
  readonly configuration: ProxyConfiguration;
  readonly addresses: NodeAddresses;
  readonly podCIDRs: readonly string[];
}

/** What was probed of the machine for iptables mode. */
export interface IptablesMachine {
  /** The kernel interface behind the iptables program. */
  readonly backend: 'nf_tables' | 'legacy';
  /** iptables cannot have a larger send buffer than other processes: the kernel grants that only outside of user namespaces. */
  readonly isInUserNamespace: boolean;
  readonly hasRandomFully: boolean;
  readonly conntrackIsLiberal: boolean;
  readonly counters: IptablesFacts['counters'];
  /** Addresses of all interfaces, of both families. */
  readonly hostIps: readonly string[];
}

/** Measured with iptables 1.8.9: 10,000 Services take 4 s of CPU in batches of 250 to 500, and ten times that at once. */
const SERVICES_PER_BATCH = 400;

/** A send buffer of 208 KB, the usual size, is full with less than 40 Services of two endpoints. */
const SERVICES_PER_SMALL_BATCH = 15;

function servicesPerBatch({ isInUserNamespace }: IptablesMachine): number {
  return isInUserNamespace ? SERVICES_PER_SMALL_BATCH : SERVICES_PER_BATCH;
}

export function iptablesFacts(settings: NodeSettings, family: Family, machine: IptablesMachine): IptablesFacts {
  const { configuration } = settings;
  const networks = familyNodePorts(settings, family);
  return {
    family,
    masqueradeMark: 2 ** configuration.iptables.masqueradeBit,
    masqueradeAll: configuration.masqueradeAll,
    localhostNodePorts: takesLocalhostNodePorts(settings, family),
    nodePortAddresses: networks.matchAll
      ? { kind: 'all' }
      : { kind: 'some', ips: nodePortIps(networks, machine.hostIps) },
    detector: familyDetector(settings, family),
    hasRandomFully: machine.hasRandomFully,
    servicesPerBatch: machine.backend === 'nf_tables' ? servicesPerBatch(machine) : undefined,
    conntrackIsLiberal: machine.conntrackIsLiberal,
    counters: machine.counters,
  };
}

/** What was probed of the machine for nftables mode. */
export interface NftablesMachine {
  readonly hasCounters: boolean;
  readonly releasesChainsAtOnce: boolean;
  /** net.ipv4.conf.all.route_localnet is set. */
  readonly routesLocalnet: boolean;
  readonly hostIps: readonly string[];
}

export function nftablesFacts(settings: NodeSettings, family: Family, machine: NftablesMachine): NftablesFacts {
  const { configuration } = settings;
  const networks = familyNodePorts(settings, family);
  return {
    family,
    masqueradeMark: 2 ** configuration.nftables.masqueradeBit,
    masqueradeAll: configuration.masqueradeAll,
    nodePortAddresses: networks.matchAll
      ? { kind: 'all' }
      : { kind: 'some', ips: nodePortIps(networks, machine.hostIps) },
    localhostNodePorts: namesLoopback(networks) && machine.routesLocalnet,
    detector: familyDetector(settings, family),
    hasCounters: machine.hasCounters,
    releasesChainsAtOnce: machine.releasesChainsAtOnce,
  };
}

/** Asked for in so many words: in this mode a network that holds every address is no wish for the loopback's. */
function namesLoopback({ cidrs, matchAll }: NodePortNetworks): boolean {
  return !matchAll && cidrs.some((cidr) => isLoopback(cidrAddress(cidr)));
}

/** Node ports on 127.0.0.1 need route_localnet, so they are only taken where the addresses cover it. */
export function takesLocalhostNodePorts(settings: NodeSettings, family: Family): boolean {
  return settings.configuration.iptables.localhostNodePorts && familyNodePorts(settings, family).containsIPv4Loopback;
}

export function familyNodePorts({ configuration, addresses }: NodeSettings, family: Family): NodePortNetworks {
  return nodePortNetworks(configuration.nodePortAddresses, addresses, family);
}

export function familyDetector({ configuration, podCIDRs }: NodeSettings, family: Family): IptablesFacts['detector'] {
  return localDetector(configuration.detectLocalMode, configuration.detectLocal, podCIDRs, family);
}
