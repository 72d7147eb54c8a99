// In: one service.  Out: what IPVS mode wants for it: virtual servers with their real servers, addresses, set entries, and
// the few rules that sets cannot say.

import type { SetEntry } from '../../kernel/ipset-codec.ts';
import { IP_VS_SVC_F_PERSISTENT, IP_VS_SVC_F_SCHED_MH_PORT, type VirtualServer } from '../../kernel/ipvs-codec.ts';
import { cidrAddress, cidrPrefixLength, hostPort } from '../../lib/ip.ts';
import type { Backend, Frontend, ServiceModel, ServicePort, TrafficClass } from '../../model/model.ts';
import type { IpvsFacts } from './facts.ts';
import { localClientRules } from './local-clients.ts';
import type { SetName } from './sets.ts';

export interface ServicePart {
  readonly servers: readonly WantedServer[];
  readonly entries: readonly WantedEntry[];
  /** To be put on kube-ipvs0. */
  readonly addresses: readonly string[];
  /** Rules of KUBE-IPVS-OUT-FILTER. */
  readonly outFilter: readonly string[];
  /** Rules of KUBE-LOCAL-CLIENTS. */
  readonly localClients: readonly string[];
}

export interface WantedServer extends VirtualServer {
  readonly backends: readonly Address[];
}

export interface Address {
  readonly ip: string;
  readonly port: number;
}

export interface WantedEntry {
  readonly set: SetName;
  readonly entry: SetEntry;
}

type AddressFrontend = Exclude<Frontend, { kind: 'node-port' }>;

export function servicePart(service: ServiceModel, facts: IpvsFacts): ServicePart {
  const parts = service.ports.map((port) => portPart(port, facts));
  const { healthCheckNodePort } = service;
  return {
    servers: parts.flatMap(({ servers }) => servers),
    entries: [
      ...parts.flatMap(({ entries }) => entries),
      ...(healthCheckNodePort === 0
        ? []
        : [{ set: 'HEALTH-CHECK-NODE-PORT', entry: { port: healthCheckNodePort } } as const]),
    ],
    addresses: [...new Set(parts.flatMap(({ addresses }) => addresses))],
    outFilter: parts.flatMap(({ outFilter }) => outFilter),
    localClients: parts.flatMap(({ localClients }) => localClients),
  };
}

function portPart(port: ServicePort, facts: IpvsFacts): ServicePart {
  const ips = port.frontends.filter((frontend) => frontend.kind !== 'node-port') as AddressFrontend[];
  // An external address that is already the node's own is reached without our help, and must stay where it is.
  const addresses = ips.filter(({ kind, ip }) => kind === 'cluster-ip' || !facts.nodeAddresses.includes(ip));
  const bound = [...new Set(addresses.map(({ ip }) => ip))];
  return {
    servers: port.frontends.flatMap((frontend) => serversOf(port, frontend, facts)),
    entries: [
      ...hairpinEntries(port, facts),
      ...port.frontends.flatMap((frontend) => entriesOf(port, frontend, facts)),
      ...bound.map((ip): WantedEntry => ({ set: 'IPVS-IPS', entry: { ip } })),
    ],
    addresses: bound,
    outFilter: outFilterRules(port, ips),
    localClients: localClientRules(port, facts),
  };
}

function serversOf(port: ServicePort, frontend: Frontend, facts: IpvsFacts): WantedServer[] {
  const ips = frontend.kind === 'node-port' ? facts.nodePortAddresses : [frontend.ip];
  const backends = backendsOf(port, frontend.kind === 'cluster-ip' ? port.internal : port.external);
  const persistent = port.affinityTimeoutSeconds > 0 ? IP_VS_SVC_F_PERSISTENT : 0;
  return ips.map((ip) => ({
    protocol: port.protocol,
    ip,
    port: frontend.port,
    scheduler: facts.scheduler,
    flags: persistent | (facts.scheduler === 'mh' ? IP_VS_SVC_F_SCHED_MH_PORT : 0),
    timeoutSeconds: port.affinityTimeoutSeconds,
    backends: backends.map(({ ip, port }) => ({ ip, port })),
  }));
}

/** With none, IPVS answers that the port is unreachable. */
function backendsOf({ backends }: ServicePort, { over }: TrafficClass): readonly Backend[] {
  return over === 'local' ? backends.local : backends.cluster;
}

/** A pod that is sent to itself must see another source address, or it would answer itself directly. Endpoints that are not
 *  in use are listed too: they may come into use with connections from themselves open. */
function hairpinEntries({ protocol, backends, leftOut }: ServicePort, { nodeName }: IpvsFacts): WantedEntry[] {
  const used = backends.reachable.filter(({ isLocal }) => isLocal);
  const unused = leftOut.filter((endpoint) => nodeName !== '' && endpoint.nodeName === nodeName);
  return [...used, ...unused.map(({ address }) => parseAddress(address))].map(({ ip, port }) => ({
    set: 'LOOP-BACK',
    entry: { ip, protocol, port, ip2: ip },
  }));
}

function parseAddress(address: string): Address {
  const colon = address.lastIndexOf(':');
  return { ip: address.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(address.slice(colon + 1)) };
}

function entriesOf(port: ServicePort, frontend: Frontend, facts: IpvsFacts): WantedEntry[] {
  const { protocol } = port;
  const isLocal = port.external.over === 'local';
  if (frontend.kind === 'node-port') return nodePortEntries(port, frontend.port, facts);
  const entry = { ip: frontend.ip, protocol, port: frontend.port };
  switch (frontend.kind) {
    case 'cluster-ip':
      return [{ set: 'CLUSTER-IP', entry }];
    case 'external-ip':
      return [{ set: isLocal ? 'EXTERNAL-IP-LOCAL' : 'EXTERNAL-IP', entry }];
    case 'load-balancer-ip':
      return [
        { set: 'LOAD-BALANCER', entry },
        ...(isLocal ? [{ set: 'LOAD-BALANCER-LOCAL', entry } as const] : []),
        ...sourceRangeEntries(port, entry),
      ];
  }
}

function sourceRangeEntries(port: ServicePort, entry: SetEntry & { readonly ip: string }): WantedEntry[] {
  if (port.sourceRanges.length === 0) return [];
  return [
    { set: 'LOAD-BALANCER-FW', entry },
    ...port.sourceRanges.map((cidr): WantedEntry => {
      const network = { ip2: cidrAddress(cidr), prefix2: cidrPrefixLength(cidr) };
      return { set: 'LOAD-BALANCER-SOURCE-CIDR', entry: { ...entry, ...network } };
    }),
    ...(port.sourceRangesIncludeNode
      ? [{ set: 'LOAD-BALANCER-SOURCE-IP', entry: { ...entry, ip2: entry.ip } } as const]
      : []),
  ];
}

function nodePortEntries({ protocol, external }: ServicePort, port: number, facts: IpvsFacts): WantedEntry[] {
  const isLocal = external.over === 'local';
  if (protocol === 'SCTP') {
    return facts.nodePortAddresses.flatMap((ip) => {
      const entry = { ip, protocol, port };
      const local = isLocal ? [{ set: 'NODE-PORT-LOCAL-SCTP-HASH', entry } as const] : [];
      return [{ set: 'NODE-PORT-SCTP-HASH', entry } as const, ...local];
    });
  }
  return [
    { set: `NODE-PORT-${protocol}`, entry: { port } },
    ...(isLocal ? [{ set: `NODE-PORT-LOCAL-${protocol}`, entry: { port } } as const] : []),
  ];
}

/** The node's own packets to a load-balancer address have that address as their source, so the source ranges cannot judge
 *  them. Where the ranges leave the node out, this does. */
function outFilterRules(port: ServicePort, frontends: readonly AddressFrontend[]): string[] {
  if (port.sourceRanges.length === 0 || port.sourceRangesIncludeNode) return [];
  const protocol = port.protocol.toLowerCase();
  return frontends
    .filter(({ kind }) => kind === 'load-balancer-ip')
    .map(
      ({ ip, port: number }) =>
        `-A KUBE-IPVS-OUT-FILTER -s ${ip} -m ipvs --vaddr ${ip} --vproto ${protocol} --vport ${number} -j DROP`,
    );
}

/** `TCP 10.96.0.10:53` */
export function serverKey(server: Pick<VirtualServer, 'protocol' | 'ip' | 'port'>): string {
  return `${server.protocol} ${hostPort(server.ip, server.port)}`;
}
