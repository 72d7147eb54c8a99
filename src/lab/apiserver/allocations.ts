// Which cluster IPs, node ports and load balancer addresses are taken. It only listens to the store, so a dry run or a
// refused object can never leave an address behind.
import { cidrContains, cidrPrefixLength, type Family, familyOf, formatIp, ipBytes } from '../../lib/ip.ts';
import type { Change, Store } from './store.ts';
import type { Service } from './types.ts';

export interface Allocations {
  /** The Service that holds an address or `30080/TCP`, as `shop/cart`. */
  clusterIpOwner(ip: string): string | undefined;
  nodePortOwner(port: number, protocol: string): string | undefined;
  freeClusterIp(cidr: string): string | undefined;
  freeNodePort(range: PortRange, alsoTaken: ReadonlySet<number>): number | undefined;
  freeLoadBalancerIp(cidr: string): string | undefined;
}

export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** `HTTP` health checks of load balancers take a node port of every protocol. */
const PROTOCOLS = ['TCP', 'UDP', 'SCTP'];

export function trackAllocations(store: Store): Allocations {
  const clusterIps = new Map<string, string>();
  const nodePorts = new Map<string, string>();
  const loadBalancerIps = new Map<string, string>();

  store.listen('services', ({ type, now, before }: Change) => {
    if (before) {
      const { ips, ports, ingress } = held(before.object as Service);
      for (const ip of ips) clusterIps.delete(ip);
      for (const port of ports) nodePorts.delete(port);
      for (const ip of ingress) loadBalancerIps.delete(ip);
    }
    if (type === 'DELETED') return;
    const service = now.object as Service;
    const owner = `${service.metadata.namespace}/${service.metadata.name}`;
    const { ips, ports, ingress } = held(service);
    for (const ip of ips) clusterIps.set(ip, owner);
    for (const port of ports) nodePorts.set(port, owner);
    for (const ip of ingress) loadBalancerIps.set(ip, owner);
  });

  // Where the search goes on: 10,000 Services need 10,000 steps, and what was just given back is not given out at once.
  const nextIp = new Map<string, bigint>();
  let nextPort: number | undefined;
  const freeIp = (cidr: string, taken: ReadonlyMap<string, string>, firstOffset: bigint): string | undefined => {
    const size = addressCount(cidr);
    const start = nextIp.get(cidr) ?? firstOffset;
    for (let step = 0n; step < size; step++) {
      const offset = (start + step) % size;
      const ip = addressAt(cidr, offset);
      // The network's own address and, in IPv4, the broadcast address are left alone.
      if (offset === 0n || (familyOf(cidr) === 'IPv4' && offset === size - 1n) || taken.has(ip)) continue;
      nextIp.set(cidr, offset + 1n);
      return ip;
    }
    return undefined;
  };

  return {
    clusterIpOwner: (ip) => clusterIps.get(ip),
    nodePortOwner: (port, protocol) => nodePorts.get(`${port}/${protocol}`),
    freeClusterIp: (cidr) => freeIp(cidr, clusterIps, staticBand(addressCount(cidr), 16n, 256n)),
    freeLoadBalancerIp: (cidr) => freeIp(cidr, loadBalancerIps, 1n),
    freeNodePort({ first, last }, alsoTaken) {
      const size = last - first + 1;
      const start = nextPort ?? Number(staticBand(BigInt(size), 32n, 128n));
      for (let step = 0; step < size; step++) {
        const port = first + ((start + step) % size);
        if (alsoTaken.has(port) || PROTOCOLS.some((protocol) => nodePorts.has(`${port}/${protocol}`))) continue;
        nextPort = port - first + 1;
        return port;
      }
      return undefined;
    },
  };
}

/** The low part of a range is left to those who ask for an address by name, as on a cluster. */
function staticBand(size: bigint, share: bigint, most: bigint): bigint {
  const part = size / share;
  const band = part < 16n ? 16n : part > most ? most : part;
  return band < size ? band : 1n;
}

function held({ spec, status }: Service): { ips: string[]; ports: string[]; ingress: string[] } {
  const ports = (spec.ports ?? []).filter((port) => port.nodePort).map((port) => `${port.nodePort}/${port.protocol}`);
  if (spec.healthCheckNodePort) ports.push(...PROTOCOLS.map((protocol) => `${spec.healthCheckNodePort}/${protocol}`));
  return {
    ips: (spec.clusterIPs ?? []).filter((ip) => ip !== 'None'),
    ports,
    ingress: (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? []),
  };
}

export function cidrOfFamily(cidrs: readonly string[], family: Family): string | undefined {
  return cidrs.find((cidr) => familyOf(cidr) === family);
}

export function isInCidrs(cidrs: readonly string[], ip: string): boolean {
  return cidrs.some((cidr) => cidrContains(cidr, ip));
}

function addressCount(cidr: string): bigint {
  const bits = familyOf(cidr) === 'IPv4' ? 32 : 128;
  return 1n << BigInt(bits - cidrPrefixLength(cidr));
}

export function addressAt(cidr: string, offset: bigint): string {
  const bytes = Uint8Array.from(ipBytes(cidr.slice(0, cidr.indexOf('/'))));
  let left = offset;
  for (let i = bytes.length - 1; i >= 0 && left > 0n; i--) {
    const sum = BigInt(bytes[i]!) + (left & 0xffn);
    bytes[i] = Number(sum & 0xffn);
    left = (left >> 8n) + (sum >> 8n);
  }
  return formatIp(bytes);
}
