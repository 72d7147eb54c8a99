// What IPVS mode must know of the machine and of its configuration, in one family: plain data, probed outside.
import type { DeviceAddress } from '../../kernel/links-codec.ts';
import { cidrContains, type Family, familyOf, isLoopback, parseCidr } from '../../lib/ip.ts';
import { familyDetector, familyNodePorts, type NodeSettings } from '../../node/facts.ts';
import type { LocalDetector } from '../local-detector.ts';

export interface IpvsFacts {
  readonly family: Family;
  readonly nodeName: string;
  readonly scheduler: string;
  readonly masqueradeMark: number;
  readonly masqueradeAll: boolean;
  readonly detector: LocalDetector;
  /** iptables 1.6.2 and later: MASQUERADE --random-fully. */
  readonly hasRandomFully: boolean;
  /** Virtual servers inside these networks are somebody else's, even if they look like ours. */
  readonly excludeCIDRs: readonly string[];
  /** Addresses of all devices but kube-ipvs0, without loopback and link-local ones, sorted. */
  readonly nodeAddresses: readonly string[];
  /** Those of them that take node ports. */
  readonly nodePortAddresses: readonly string[];
}

/** What was probed of the machine for IPVS mode. */
export interface IpvsMachine {
  readonly nodeName: string;
  readonly hasRandomFully: boolean;
  /** Addresses of all devices, of this family. */
  readonly addresses: readonly DeviceAddress[];
  /** Index of kube-ipvs0, undefined if there is none yet. */
  readonly device: number | undefined;
}

export const DEFAULT_SCHEDULER = 'rr';

export function ipvsFacts(settings: NodeSettings, family: Family, machine: IpvsMachine): IpvsFacts {
  const { configuration } = settings;
  const { nodeName, hasRandomFully } = machine;
  const networks = familyNodePorts(settings, family);
  const nodeAddresses = addressesOfNode(machine);
  const isIncluded = (ip: string): boolean => networks.cidrs.some((cidr) => cidrContains(cidr, ip));
  return {
    family,
    nodeName,
    scheduler: configuration.ipvs.scheduler || DEFAULT_SCHEDULER,
    masqueradeMark: 2 ** configuration.iptables.masqueradeBit,
    masqueradeAll: configuration.masqueradeAll,
    detector: familyDetector(settings, family),
    hasRandomFully,
    excludeCIDRs: configuration.ipvs.excludeCIDRs
      .flatMap((cidr) => parseCidr(cidr) ?? [])
      .filter((cidr) => familyOf(cidr) === family),
    nodeAddresses,
    nodePortAddresses: networks.matchAll ? nodeAddresses : nodeAddresses.filter(isIncluded),
  };
}

function addressesOfNode({ addresses, device }: IpvsMachine): readonly string[] {
  const others = addresses.filter((address) => address.device !== device && !address.isLinkLocal);
  return [...new Set(others.map(({ ip }) => ip))].filter((ip) => !isLoopback(ip)).sort();
}
