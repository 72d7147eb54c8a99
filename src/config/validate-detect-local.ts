// What can be wrong with the way local traffic is told from other traffic.
import { familyOf, parseCidr } from '../lib/ip.ts';
import type { DetectLocalMode, Settings } from './configuration.ts';
import { invalid } from './problems.ts';

const MODES: readonly DetectLocalMode[] = ['ClusterCIDR', 'NodeCIDR', 'BridgeInterface', 'InterfaceNamePrefix'];

export function detectLocalProblems({ detectLocalMode, detectLocal }: Settings, root: string): string[] {
  const path = `${root}.DetectLocalConfiguration`;
  switch (detectLocalMode) {
    case '':
    case 'NodeCIDR':
      return [];
    case 'ClusterCIDR':
      return clusterCidrProblems(detectLocal.clusterCIDRs, `${path}.ClusterCIDRs`);
    case 'BridgeInterface':
      return emptyProblems(detectLocal.bridgeInterface, `${path}.InterfaceName`);
    case 'InterfaceNamePrefix':
      return emptyProblems(detectLocal.interfaceNamePrefix, `${path}.InterfacePrefix`);
    default: {
      const detail = `supported values: ${[...MODES, ''].map((mode) => JSON.stringify(mode)).join(', ')}`;
      return [invalid(`${root}.DetectLocalMode`, detectLocalMode, detail, 'Unsupported value')];
    }
  }
}

function emptyProblems(value: string, path: string): string[] {
  return value === '' ? [invalid(path, value, 'must not be empty')] : [];
}

function clusterCidrProblems(cidrs: readonly string[], path: string): string[] {
  const pair = 'must be a either a single CIDR or dual-stack pair of CIDRs (e.g. [10.100.0.0/16, fde4:8dba:82e1::/48]';
  if (cidrs.length > 2) return [invalid(path, cidrs, pair)];
  const problems: string[] = [];
  for (const [i, cidr] of cidrs.entries()) {
    const detail = 'must be a valid CIDR block (e.g. 10.100.0.0/16 or fde4:8dba:82e1::/48)';
    if (!parseCidr(cidr)) problems.push(invalid(`${path}[${i}]`, cidr, detail));
  }
  const families = new Set(cidrs.map((cidr) => familyOf(parseCidr(cidr) ?? '')));
  if (problems.length === 0 && cidrs.length === 2 && families.size === 1) problems.push(invalid(path, cidrs, pair));
  return problems;
}
