// What userspace mode must know of the machine and of its configuration, in one family: plain data, probed outside.
import { type Family, isLoopback } from '../../lib/ip.ts';
import { familyDetector, type NodeSettings } from '../../node/facts.ts';
import type { LocalDetector } from '../local-detector.ts';

export interface UserspaceFacts {
  readonly family: Family;
  /** Where relays listen. 0.0.0.0 or :: is all addresses. */
  readonly bindAddress: string;
  /** Where the node's own connections are sent to meet a relay: an address of the node. */
  readonly hostIp: string;
  readonly detector: LocalDetector;
}

const ANY: Readonly<Record<Family, string>> = { IPv4: '0.0.0.0', IPv6: '::' };

/** A bind address that is a specific one holds for its own family, the other listens on all its addresses. */
export function userspaceFacts(settings: NodeSettings, family: Family): UserspaceFacts {
  const { configuration, addresses } = settings;
  const isSpecific = configuration.bindAddress !== ANY.IPv4 && configuration.bindAddress !== ANY.IPv6;
  const isOfFamily = configuration.bindAddress.includes(':') === (family === 'IPv6');
  return {
    family,
    bindAddress: isSpecific && isOfFamily ? configuration.bindAddress : ANY[family],
    hostIp: addresses.ips[family],
    detector: familyDetector(settings, family),
  };
}

/** Why relays cannot work with these facts, or undefined if they can. */
export function unusableBecause({ bindAddress, hostIp, family }: UserspaceFacts): string | undefined {
  if (isLoopback(bindAddress)) return 'cannot proxy on localhost';
  if (isLoopback(hostIp)) return `failed to select a host interface: no ${family} address of this node is known`;
  return undefined;
}

export function listensOnAll({ bindAddress, family }: UserspaceFacts): boolean {
  return bindAddress === ANY[family];
}
