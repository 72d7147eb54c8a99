// In: one Service in a node's model, its rules, and what was counted.  Out: everything there is to say about it on this node.
import { hostPort } from '../../lib/ip.ts';
import type { ServiceModel, ServicePort } from '../../model/model.ts';
import type { ChangeRecord } from '../history.ts';
import type { Client } from './clients.ts';
import { packetFrom } from './clients.ts';
import type { Surroundings } from './packet.ts';
import { type TraceContext, traceReport } from './report.ts';
import type { Walker } from './walk.ts';

export interface ServiceExplanation {
  readonly service: string;
  readonly node: string;
  readonly family: string;
  readonly ports: readonly PortExplanation[];
  /** The last changes of it that this node's agent brought to the kernel, newest first; none where no agent was asked. */
  readonly changes: readonly ChangeRecord[];
}

export interface PortExplanation {
  readonly port: string;
  readonly protocol: string;
  readonly addresses: readonly { readonly kind: string; readonly address: string }[];
  readonly internalTrafficPolicy: 'Cluster' | 'Local';
  readonly externalTrafficPolicy?: 'Cluster' | 'Local';
  readonly affinitySeconds: number;
  readonly sourceRanges: readonly string[];
  readonly endpoints: readonly EndpointExplanation[];
  /** What clients of each kind get from each address. */
  readonly clients: readonly { readonly client: string; readonly address: string; readonly gets: string }[];
  readonly rules: readonly string[];
  /** Clients that are kept to an endpoint, where that is known. */
  readonly remembered: readonly RememberedClient[];
  /** New connections to each endpoint since its rules were last written, where they are counted. */
  readonly shares: readonly ObservedShare[];
}

export interface EndpointExplanation {
  readonly address: string;
  readonly node?: string;
  readonly zone?: string;
  readonly target?: string;
  readonly slice: string;
  /** By whom it is used: `everybody`, `policy Cluster`, `policy Local`; absent if it is left out. */
  readonly usedBy?: string;
  readonly leftOutBecause?: string;
}

export interface RememberedClient {
  readonly client: string;
  readonly endpoint: string;
}

export interface ObservedShare {
  readonly endpoint: string;
  readonly connections: number;
  readonly observed: number;
  readonly expected: number;
}

/** What the kernel tells besides its rules, by the endpoint's address. */
export interface Observations {
  readonly connections: (port: ServicePort, address: string) => number | undefined;
  /** Addresses of clients that are kept to this endpoint. */
  readonly remembered: (port: ServicePort, address: string) => readonly string[];
  readonly rules: (port: ServicePort) => readonly string[];
}

export interface ExplainInput {
  readonly service: ServiceModel;
  readonly family: string;
  readonly walker: Walker;
  readonly host: Surroundings;
  readonly clients: readonly Client[];
  readonly context: TraceContext;
  readonly observations: Observations;
  readonly changes: readonly ChangeRecord[];
}

export function explainService(input: ExplainInput): ServiceExplanation {
  const { service, context, family } = input;
  return {
    service: `${service.namespace}/${service.name}`,
    node: context.node,
    family,
    ports: service.ports.map((port) => explainPort(port, input)),
    changes: input.changes,
  };
}

function explainPort(port: ServicePort, input: ExplainInput): PortExplanation {
  const { observations, host } = input;
  const addresses = port.frontends.map((frontend) => ({
    kind: frontend.kind,
    address: hostPort(frontend.kind === 'node-port' ? host.address : frontend.ip, frontend.port),
  }));
  return {
    port: port.displayName,
    protocol: port.protocol,
    addresses,
    internalTrafficPolicy: policyName(port.internal.over),
    ...(port.isExternallyAccessible && { externalTrafficPolicy: policyName(port.external.over) }),
    affinitySeconds: port.affinityTimeoutSeconds,
    sourceRanges: port.sourceRanges,
    endpoints: endpointsOf(port),
    clients: port.frontends.flatMap((frontend) => {
      const ip = frontend.kind === 'node-port' ? host.address : frontend.ip;
      return input.clients.map((client) => ({
        client: client.name,
        address: hostPort(ip, frontend.port),
        gets: fateOf(client, ip, frontend.port, port, input),
      }));
    }),
    rules: observations.rules(port),
    remembered: port.backends.reachable.flatMap(({ address }) =>
      observations.remembered(port, address).map((client) => ({ client, endpoint: address })),
    ),
    shares: sharesOf(port, observations),
  };
}

function policyName(over: 'cluster' | 'local'): 'Cluster' | 'Local' {
  return over === 'cluster' ? 'Cluster' : 'Local';
}

function fateOf(client: Client, ip: string, number: number, port: ServicePort, input: ExplainInput): string {
  const { host, walker, context } = input;
  const source = client.isThisHost && host.isOwnAddress(ip) ? { ...client, ip } : client;
  const packet = packetFrom(source, ip, number, port.protocol);
  return traceReport(packet, walker.walk(packet, host), context).sentence;
}

function endpointsOf({ backends, leftOut }: ServicePort): readonly EndpointExplanation[] {
  const cluster = new Set(backends.cluster);
  const local = new Set(backends.local);
  const used = backends.reachable.map((backend) => ({
    address: backend.address,
    ...(backend.nodeName !== undefined && { node: backend.nodeName }),
    ...(backend.zone !== undefined && { zone: backend.zone }),
    ...(backend.target !== undefined && { target: backend.target }),
    slice: backend.slice,
    usedBy:
      local.size === 0 || cluster.size === 0 || (cluster.has(backend) && local.has(backend))
        ? 'everybody'
        : `policy ${cluster.has(backend) ? 'Cluster' : 'Local'}`,
    ...(backend.isTerminating && { isTerminating: true }),
  }));
  const unused = leftOut.map(({ address, nodeName, target, slice, reason }) => ({
    address,
    ...(nodeName !== undefined && { node: nodeName }),
    ...(target !== undefined && { target }),
    slice,
    leftOutBecause: REASONS[reason],
  }));
  return [...used, ...unused];
}

const REASONS = {
  'not-ready': 'it is not ready',
  terminating: 'it is terminating, and ready ones are left',
  'other-zone': 'hints keep traffic in this node’s zone',
  'other-node': 'hints keep traffic on this node',
  'not-local': 'it is on another node, and the policy is Local',
} as const;

function sharesOf({ backends, ...port }: ServicePort, { connections }: Observations): readonly ObservedShare[] {
  const counted = backends.reachable.map(({ address }) => ({
    endpoint: address,
    connections: connections({ backends, ...port }, address),
  }));
  const total = counted.reduce((sum, one) => sum + (one.connections ?? 0), 0);
  return counted.flatMap(({ endpoint, connections: count }) =>
    count === undefined
      ? []
      : [
          {
            endpoint,
            connections: count,
            observed: total === 0 ? 0 : count / total,
            expected: 1 / backends.reachable.length,
          },
        ],
  );
}
