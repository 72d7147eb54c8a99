// What verification must know of iptables mode: whose rules are whose, and in what it is known to differ from other modes.
import type { IptablesFacts } from '../../modes/iptables/facts.ts';
import { isOurChain } from '../trace/iptables-origins.ts';
import type { DriftScope } from './drift.ts';
import { type Setup, USUAL } from './meaning.ts';
import { commonSetup } from './setup.ts';

const SHARED_BY_SERVICES = new Set([
  'KUBE-SERVICES',
  'KUBE-NODEPORTS',
  'KUBE-EXTERNAL-SERVICES',
  'KUBE-PROXY-FIREWALL',
]);

export const IPTABLES_SCOPE: DriftScope = {
  isOurChain,
  isOurRule: ({ statements }) =>
    statements.some((statement) => statement.kind === 'jump' && isOurChain(statement.chain)),
  isUnordered: (chain) => SHARED_BY_SERVICES.has(chain),
};

export function iptablesSetup(facts: IptablesFacts): Setup {
  return {
    ...USUAL,
    ...commonSetup(facts),
    refusesOwnTrafficToExternalAddresses: false,
    refusesNodePortsEverywhere: true,
    guardsWithoutEndpoints: false,
  };
}
