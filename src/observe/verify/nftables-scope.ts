// What verification must know of nftables mode: whose rules are whose, and in what it is known to differ from other modes.
import { isLoopback } from '../../lib/ip.ts';
import type { NftablesFacts } from '../../modes/nftables/facts.ts';
import type { DriftScope } from './drift.ts';
import type { Setup } from './meaning.ts';

/** The whole table is the proxy's. */
export const NFTABLES_SCOPE: DriftScope = {
  isOurChain: () => true,
  isOurRule: () => true,
  isUnordered: () => false,
};

export function nftablesSetup(facts: NftablesFacts): Setup {
  const { nodePortAddresses } = facts;
  const isTaken = (ip: string): boolean => nodePortAddresses.kind === 'all' || nodePortAddresses.ips.includes(ip);
  return {
    masqueradeAll: facts.masqueradeAll,
    detector: facts.detector,
    localhostNodePorts: facts.localhostNodePorts && isTaken('127.0.0.1'),
    takesNodePorts: (ip) => !isLoopback(ip) && isTaken(ip),
    refusesOwnTrafficToExternalAddresses: true,
    refusesNodePortsEverywhere: false,
    guardsWithoutEndpoints: true,
  };
}
