// Names of chains, as every kube-proxy since 1.2 has made them: scripts and people know these.

import { base32Hash } from '../../lib/hash.ts';
import type { ServicePort } from '../../model/model.ts';

export interface ServiceChains {
  /** Balances over the cluster list. */
  readonly cluster: string;
  /** Balances over the local list. */
  readonly local: string;
  /** Entry of all external destinations. */
  readonly external: string;
  /** Source-range filter in front of it. */
  readonly firewall: string;
}

export function serviceChains(port: ServicePort): ServiceChains {
  const hash = base32Hash(portIdentity(port), 16);
  return {
    cluster: `KUBE-SVC-${hash}`,
    local: `KUBE-SVL-${hash}`,
    external: `KUBE-EXT-${hash}`,
    firewall: `KUBE-FW-${hash}`,
  };
}

export function endpointChain(port: ServicePort, address: string): string {
  return `KUBE-SEP-${base32Hash(portIdentity(port) + address, 16)}`;
}

function portIdentity(port: ServicePort): string {
  return port.displayName + port.protocol.toLowerCase();
}

/** Chains that belong to one service each; any of these that no plan names is stale. */
const SERVICE_CHAIN_PREFIXES = ['KUBE-SVC-', 'KUBE-SVL-', 'KUBE-SEP-', 'KUBE-FW-', 'KUBE-EXT-'];

export function isServiceChain(chain: string): boolean {
  return SERVICE_CHAIN_PREFIXES.some((prefix) => chain.startsWith(prefix));
}
