// What verification must know of userspace mode: whose rules are whose, and in what it is known to differ from other modes.
import type { UserspaceFacts } from '../../modes/userspace/facts.ts';
import { isUserspaceChain } from '../trace/userspace-origins.ts';
import type { DriftScope } from './drift.ts';
import { type Setup, USUAL } from './meaning.ts';
import { commonSetup } from './setup.ts';

/** Services stand side by side in all its chains. */
export const USERSPACE_SCOPE: DriftScope = {
  isOurChain: isUserspaceChain,
  isOurRule: ({ statements }) =>
    statements.some((statement) => statement.kind === 'jump' && isUserspaceChain(statement.chain)),
  isUnordered: () => true,
};

/** Whatever a packet's address, it is led to the relay before anybody asks where it goes. */
export function userspaceSetup({ detector }: UserspaceFacts): Setup {
  return {
    ...USUAL,
    ...commonSetup({ detector, masqueradeAll: false, localhostNodePorts: true, nodePortAddresses: { kind: 'all' } }),
    refusesOwnTrafficToExternalAddresses: true,
    refusesNodePortsEverywhere: false,
    guardsWithoutEndpoints: true,
    withoutEndpoints: 'after-accepting',
    relays: true,
    dropsExcludedSources: false,
    serves: (protocol) => protocol !== 'SCTP',
  };
}
