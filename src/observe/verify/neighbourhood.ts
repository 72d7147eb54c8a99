// In: what is known of the node and its network.  Out: the clients that verification lets knock, and where on the node.
import { familyOf, isLoopback } from '../../lib/ip.ts';
import type { NodeModel } from '../../model/model.ts';
import type { NodePortAddresses } from '../../modes/iptables/facts.ts';
import type { LocalDetector } from '../../modes/local-detector.ts';
import { addressOutside, podClient } from '../trace/clients.ts';
import type { AddressBook } from '../trace/frontends.ts';
import type { Neighbourhood } from './cases.ts';

export interface NodeFacts {
  readonly nodeIp: string;
  readonly hostIps: readonly string[];
  readonly podCIDRs: readonly string[];
  readonly detector: LocalDetector;
  readonly nodePortAddresses: NodePortAddresses;
  /** Addresses that the node has for Services. */
  readonly serviceIps: ReadonlySet<string> | undefined;
}

export function neighbourhoodOf(model: NodeModel, book: AddressBook, facts: NodeFacts): Neighbourhood {
  const { family } = model;
  const { detector, podCIDRs, nodeIp, hostIps } = facts;
  const ranges = book.ports.flatMap(({ sourceRanges }) => sourceRanges);
  const inside = [...podCIDRs, ...(detector.kind === 'source' ? [detector.cidr] : [])];
  const outside = addressOutside(family, [...new Set([...inside, ...ranges])]) ?? addressOutside(family, inside)!;
  return {
    family,
    pod: podClient(family, detector, podCIDRs, (ip) => book.hasBackendIp(ip)),
    // By a device that is no pod's, where pods are told by theirs.
    outside: { name: 'an outside client', ip: outside, device: outsideDevice(detector), isThisHost: false },
    nodeIp,
    isOwnIp: (ip) => hostIps.includes(ip) || (facts.serviceIps?.has(ip) ?? false),
    nodePortIps: nodePortIps(
      facts,
      hostIps.filter((ip) => familyOf(ip) === family),
    ),
    asksLoopback: family === 'IPv4',
  };
}

function outsideDevice(detector: LocalDetector): string | undefined {
  return detector.kind === 'interface' || detector.kind === 'interface-prefix' ? 'outside0' : undefined;
}

/** Where node ports are taken, and one address of this node where they are not. */
function nodePortIps({ nodePortAddresses, nodeIp }: NodeFacts, own: readonly string[]): readonly string[] {
  const known = isLoopback(nodeIp) ? own.filter((ip) => !isLoopback(ip)) : [nodeIp];
  if (nodePortAddresses.kind === 'all') return known.slice(0, 1);
  const taken = nodePortAddresses.ips.filter((ip) => !isLoopback(ip));
  const refused = [...known, ...own].find((ip) => !isLoopback(ip) && !taken.includes(ip));
  return refused === undefined ? taken : [...taken, refused];
}
