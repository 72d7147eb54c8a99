// What verification must know of IPVS mode: whose rules are whose, and in what it is known to differ from other modes.
import { cidrContains } from '../../lib/ip.ts';
import type { IpvsFacts } from '../../modes/ipvs/facts.ts';
import { isIpvsChain } from '../trace/ipvs-origins.ts';
import type { DriftScope } from './drift.ts';
import { type Setup, USUAL } from './meaning.ts';
import { commonSetup } from './setup.ts';

const SHARED_BY_SERVICES = new Set(['KUBE-LOCAL-CLIENTS', 'KUBE-IPVS-OUT-FILTER']);

export function ipvsScope({ excludeCIDRs }: IpvsFacts): DriftScope {
  return {
    isOurChain: isIpvsChain,
    isOurRule: ({ statements }) =>
      statements.some((statement) => statement.kind === 'jump' && isIpvsChain(statement.chain)),
    isUnordered: (chain) => SHARED_BY_SERVICES.has(chain),
    isExcluded: (ip) => excludeCIDRs.some((cidr) => cidrContains(cidr, ip)),
  };
}

export function ipvsSetup({ detector, masqueradeAll, nodePortAddresses }: IpvsFacts): Setup {
  return {
    ...USUAL,
    ...commonSetup({
      detector,
      masqueradeAll,
      localhostNodePorts: false,
      nodePortAddresses: { kind: 'some', ips: nodePortAddresses },
    }),
    refusesOwnTrafficToExternalAddresses: true,
    refusesNodePortsEverywhere: false,
    guardsWithoutEndpoints: true,
    withoutEndpoints: 'refused',
    balancesOwnTrafficFirst: true,
    leadsLocalClientsToClusterIp: true,
  };
}
