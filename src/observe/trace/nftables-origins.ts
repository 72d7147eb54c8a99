// In: a NodeModel.  Out: for every hop through nftables mode's table the objects and fields it comes from. Its rules are the same
// for all services, so the answer lies in where the packet was sent and what it became.
import { hostPort } from '../../lib/ip.ts';
import type { NodeModel } from '../../model/model.ts';
import { TABLE_NAME } from '../../modes/nftables/names.ts';
import { AddressBook, type FrontendOf } from './frontends.ts';
import { endpointOrigin, frontendFields, MASQUERADE_CLUSTER_IP, unavailability } from './iptables-origins.ts';
import { type Origin, type Origins, serviceOf } from './origin.ts';
import type { Hop } from './packet.ts';

const CONFIGURATION = 'KubeProxyConfiguration';

export class NftablesOrigins implements Origins {
  readonly #book: AddressBook;

  constructor(model: NodeModel) {
    this.#book = new AddressBook(model);
  }

  isOurs({ chain }: Hop): boolean {
    return chain.origin === 'nftables' && chain.table === TABLE_NAME;
  }

  of(hop: Hop): readonly Origin[] {
    if (!hop.rule || !this.isOurs(hop)) return [];
    const { chain, did, packet } = hop;
    const found = packet && this.#book.asked(packet.originalDst, packet.protocol, packet.originalDstPort);
    if (did.kind === 'dnat' && found && did.ip !== undefined) {
      const backend = this.#book.backend(hostPort(did.ip, did.port ?? 0), found.port);
      return backend ? [endpointOrigin(found.port, backend)] : [];
    }
    if (chain.base) return [];
    if (chain.name === 'services' && did.kind === 'mark') return [MASQUERADE_CLUSTER_IP];
    const fixed = FIXED[chain.name];
    if (fixed) return [fixed];
    return found ? [dispatchOrigin(found, chain.name)] : [];
  }
}

function dispatchOrigin({ port, frontend }: FrontendOf, chain: string): Origin {
  const object = serviceOf(port);
  const { fields, name } = frontendFields(port, frontend);
  if (chain.startsWith('firewall-') || chain === 'firewall-check')
    return {
      object,
      fields: ['spec.loadBalancerSourceRanges'],
      meaning: `only ${port.sourceRanges.join(', ')} may use this address`,
    };
  if (chain.startsWith('short-circuit') || chain.startsWith('cluster-policy'))
    return {
      object,
      fields: ['spec.externalTrafficPolicy'],
      meaning:
        'externalTrafficPolicy is Local: pods and this node reach every endpoint, others only those on this node',
    };
  if (chain === 'mark-for-masquerade')
    return {
      object,
      fields: ['spec.externalTrafficPolicy'],
      meaning:
        'externalTrafficPolicy is Cluster: answers must come back through this node, so endpoints see its address',
    };
  const side = frontend.kind === 'cluster-ip' ? 'internal' : 'external';
  const refused =
    chain.includes('endpoints-check') || chain === 'reject-chain' ? unavailability(port, side) : undefined;
  if (refused) return { object, fields: [...fields, ...refused.fields], meaning: refused.meaning };
  return { object, fields, meaning: `${name} of ${port.displayName}` };
}

const FIXED: Readonly<Record<string, Origin>> = {
  masquerading: {
    object: CONFIGURATION,
    fields: ['nftables.masqueradeBit'],
    meaning: 'what is marked, or comes back to its sender, gets this node’s address as source',
  },
  'cluster-ips-check': {
    object: 'ServiceCIDR',
    fields: ['spec.cidrs'],
    meaning: 'an address of Services, but not one at which this port is served',
  },
};
