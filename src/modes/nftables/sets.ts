// The tables that services are rows of. Their names and types; what each is for stands in its comment, which nft prints.
import type { NftSet, NftType } from '../../kernel/nftables-objects.ts';
import type { Family } from '../../lib/ip.ts';
import type { Transport } from './rules.ts';

export const TRANSPORTS: readonly Transport[] = ['tcp', 'udp', 'sctp'];

export interface SetOptions {
  readonly family: Family;
  readonly hasCounters: boolean;
  /** Not all addresses take node ports. */
  readonly hasNodePortIps: boolean;
}

/** All sets of fixed names. */
export function fixedSets({ family, hasCounters, hasNodePortIps }: SetOptions): NftSet[] {
  const address = addressType(family);
  const frontend = [address, 'inet_proto', 'inet_service'] as const;
  const nodePort = ['inet_proto', 'inet_service'] as const;
  const counted = { hasCounters };
  const sets: NftSet[] = [
    { name: 'cluster-ips', key: [address], comment: 'Active ClusterIPs' },
    {
      name: 'hairpin-connections',
      key: [address, address, 'inet_proto', 'inet_service'],
      comment: 'service hairpin connections',
    },
    verdicts('no-endpoint-services', frontend, 'vmap to drop or reject packets to services with no endpoints'),
    verdicts(
      'no-endpoint-nodeports',
      nodePort,
      'vmap to drop or reject packets to service nodeports with no endpoints',
    ),
    verdicts('firewall-ips', frontend, 'destinations that are subject to LoadBalancerSourceRanges'),
    verdicts(
      'external-ips',
      frontend,
      'ExternalIPs and LoadBalancer IPs: masquerade, or look after clients on this node',
    ),
    verdicts('external-nodeports', nodePort, 'NodePorts: masquerade, or look after clients on this node'),
    { ...verdicts('service-ips', frontend, 'ClusterIP, ExternalIP and LoadBalancer IP traffic'), ...counted },
    { ...verdicts('service-nodeports', nodePort, 'NodePort traffic'), ...counted },
    verdicts('cluster-policy-ips', frontend, 'what clients on this node get where others get local endpoints only'),
    verdicts('cluster-policy-nodeports', nodePort, 'the same for NodePorts'),
    verdicts('learn-ips', [...frontend, address, 'inet_service'], 'session affinity: frontend . endpoint to remember'),
    verdicts(
      'learn-nodeports',
      [...nodePort, address, 'inet_service'],
      'session affinity: NodePort . endpoint to remember',
    ),
    ...TRANSPORTS.flatMap((transport) => endpointSets(family, hasCounters, transport)),
  ];
  if (hasNodePortIps) {
    sets.push({ name: 'nodeport-ips', key: [address], comment: 'IPs that accept NodePort traffic' });
  }
  return sets;
}

/** Frontend and index, to endpoint. nft has no name for the type of a random index, so these show expressions for types;
 *  and no name for ports of any transport in such a place, so there is one map for each. */
function endpointSets(family: Family, hasCounters: boolean, transport: Transport): NftSet[] {
  const address = addressType(family);
  const daddr = family === 'IPv4' ? 'ip daddr' : 'ip6 daddr';
  const dport = `${transport} dport` as const;
  const index = 'numgen random mod 65536';
  const value = { value: [address, 'inet_service'], hasCounters } as const;
  return [
    {
      name: endpointMap(transport, false),
      key: [address, 'inet_service', 'integer'],
      typeof: { key: [daddr, dport, index], value: [daddr, dport] },
      ...value,
    },
    {
      name: endpointMap(transport, true),
      key: ['inet_service', 'integer'],
      typeof: { key: [dport, index], value: [daddr, dport] },
      ...value,
    },
  ];
}

export function endpointMap(transport: Transport, isNodePort: boolean): string {
  return `${isNodePort ? 'nodeport-endpoints' : 'endpoints'}-${transport}`;
}

/** What a packet looks at last, once another row has led it to an endpoint. */
export const ENDPOINT_SETS: ReadonlySet<string> = new Set([
  ...TRANSPORTS.flatMap((transport) => [endpointMap(transport, false), endpointMap(transport, true)]),
  'hairpin-connections',
]);

/** Client to endpoint, for one port of one service and one port of its endpoints. Rules fill it. */
export function affinityMap(family: Family, name: string): NftSet {
  const address = addressType(family);
  return { name, key: [address], value: [address], isDynamic: true, hasTimeout: true, maxElements: MAX_CLIENTS };
}

/** What the kernel would choose by itself. A client that finds no room is served like one without affinity. */
const MAX_CLIENTS = 65535;

function verdicts(name: string, key: readonly NftType[], comment: string): NftSet {
  return { name, key, value: 'verdict', comment };
}

function addressType(family: Family): 'ipv4_addr' | 'ipv6_addr' {
  return family === 'IPv4' ? 'ipv4_addr' : 'ipv6_addr';
}
