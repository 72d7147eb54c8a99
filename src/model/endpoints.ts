// In: the slices of one service.  Out: its endpoints, merged over slices, once for each port, in upstream's order.
import type { Endpoint, EndpointSlice, Protocol, SlicePort } from '../api/objects.ts';
import { type Family, hostPort } from '../lib/ip.ts';
import type { Backend } from './model.ts';

export interface MergedEndpoint {
  readonly backend: Backend;
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly zoneHints: readonly string[];
  readonly nodeHints: readonly string[];
}

export interface EndpointsByPort {
  get(portName: string, protocol: Protocol): readonly MergedEndpoint[];
  values(): Iterable<readonly MergedEndpoint[]>;
}

export function endpointsByPort(
  slices: ReadonlyMap<string, EndpointSlice> | undefined,
  family: Family,
  nodeName: string,
): EndpointsByPort {
  const merged = new Map<string, Map<string, MergedEndpoint>>();
  for (const slice of inOrder(slices, family)) {
    for (const port of slice.ports) {
      const key = portKey(port.name, port.protocol);
      const endpoints = merged.get(key) ?? new Map<string, MergedEndpoint>();
      merged.set(key, endpoints);
      for (const endpoint of slice.endpoints) merge(endpoints, mergedEndpoint(endpoint, port, slice.name, nodeName));
    }
  }
  const lists = new Map([...merged].map(([key, endpoints]) => [key, sortedByAddress(endpoints)]));
  return { get: (portName, protocol) => lists.get(portKey(portName, protocol)) ?? [], values: () => lists.values() };
}

/** A slice may repeat an endpoint of another while it moves. Who is not terminating wins; among equals, the later slice. */
function merge(endpoints: Map<string, MergedEndpoint>, endpoint: MergedEndpoint): void {
  if (!endpoint.terminating || !endpoints.has(endpoint.backend.address))
    endpoints.set(endpoint.backend.address, endpoint);
}

function mergedEndpoint(endpoint: Endpoint, { port }: SlicePort, slice: string, nodeName: string): MergedEndpoint {
  const { ip, ready, serving, terminating, zoneHints, nodeHints, zone, target } = endpoint;
  const backend: Backend = {
    ip,
    port,
    address: hostPort(ip, port),
    isLocal: nodeName !== '' && endpoint.nodeName === nodeName,
    nodeName: endpoint.nodeName,
    zone,
    target,
    slice,
    isTerminating: !ready && serving && terminating,
  };
  return { backend, ready, serving, terminating, zoneHints, nodeHints };
}

function inOrder(slices: ReadonlyMap<string, EndpointSlice> | undefined, family: Family): readonly EndpointSlice[] {
  if (!slices) return [];
  const ofFamily = [...slices.values()].filter((slice) => slice.family === family);
  return ofFamily.length < 2 ? ofFamily : ofFamily.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** By `ip:port` in code-unit order, so 10.0.0.10:80 stands before 10.0.0.9:80: rules and probabilities follow this order. */
function sortedByAddress(endpoints: ReadonlyMap<string, MergedEndpoint>): readonly MergedEndpoint[] {
  return [...endpoints.values()].sort((a, b) => (a.backend.address < b.backend.address ? -1 : 1));
}

function portKey(portName: string, protocol: Protocol): string {
  return `${portName}/${protocol}`;
}
