// What verification must know of nftables mode: whose rules are whose, and in what it is known to differ from other modes.
import type { NftablesFacts } from '../../modes/nftables/facts.ts';
import type { DriftScope } from './drift.ts';
import { type Setup, USUAL } from './meaning.ts';
import { commonSetup } from './setup.ts';

/** The whole table is the proxy's. */
export const NFTABLES_SCOPE: DriftScope = {
  isOurChain: () => true,
  isOurRule: () => true,
  isUnordered: () => false,
};

export function nftablesSetup(facts: NftablesFacts): Setup {
  return {
    ...USUAL,
    ...commonSetup(facts),
    refusesOwnTrafficToExternalAddresses: true,
    refusesNodePortsEverywhere: false,
    guardsWithoutEndpoints: true,
  };
}
