// In: the models of all families.  Out: the list of services, a page of it at a time, and one service whole.
import type { Family } from '../../lib/ip.ts';
import type { NodeModel, ServiceModel, ServicePort } from '../../model/model.ts';
import { frontendKey, frontendText } from './frontend-key.ts';
import { leftOutShape } from './picture-nodes.ts';
import type { MapEndpoint, MapShape, Picture, PortShape, ServiceRow, ServiceShape, ServicesShape } from './shapes.ts';

export interface ServiceQuery {
  readonly search: string;
  readonly sort: 'name' | 'rate';
  readonly offset: number;
  readonly limit: number;
}

/** How a mode draws one port, and what its rules say. */
export type DrawPort = (
  port: ServicePort,
  family: Family,
) => { readonly picture: Picture; readonly rules: readonly string[] };

export function servicesShape(
  models: readonly NodeModel[],
  query: ServiceQuery,
  rates: ReadonlyMap<string, number>,
): ServicesShape {
  const names = new Set(models.flatMap(({ services }) => [...services.keys()]));
  const words = query.search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [...names].filter((name) => words.every((word) => isFound(word, name, models)));
  found.sort();
  if (query.sort === 'rate') found.sort((a, b) => (rates.get(b) ?? 0) - (rates.get(a) ?? 0));
  return {
    total: names.size,
    matching: found.length,
    offset: query.offset,
    services: found
      .slice(query.offset, query.offset + query.limit)
      .map((name) => rowOf(name, servicesNamed(name, models), rates.get(name) ?? 0)),
  };
}

/** By name, or by an address as it is written. */
function isFound(word: string, name: string, models: readonly NodeModel[]): boolean {
  if (name.toLowerCase().includes(word)) return true;
  if (!/^[0-9a-f.:]+$/.test(word)) return false;
  return servicesNamed(name, models).some(({ ports }) =>
    ports.some(
      ({ frontends, backends }) =>
        frontends.some((frontend) => frontendText(frontend).includes(word)) ||
        backends.reachable.some(({ address }) => address.startsWith(word)),
    ),
  );
}

function servicesNamed(name: string, models: readonly NodeModel[]): readonly ServiceModel[] {
  return models.flatMap(({ services }) => services.get(name) ?? []);
}

const WORST = ['balance', 'drop', 'reject'] as const;

function rowOf(name: string, services: readonly ServiceModel[], rate: number): ServiceRow {
  const ports = services.flatMap((service) => service.ports);
  const verdicts = ports.flatMap((port) => [
    ...(port.frontends.some(({ kind }) => kind === 'cluster-ip') ? [port.internal.verdict] : []),
    ...(port.isExternallyAccessible ? [port.external.verdict] : []),
  ]);
  return {
    name,
    ports: [...new Set(ports.map(portText))],
    addresses: [...new Set(ports.flatMap((port) => port.frontends.map(frontendText)))],
    used: new Set(ports.flatMap(({ backends }) => backends.reachable.map(({ address }) => address))).size,
    leftOut: new Set(ports.flatMap(({ leftOut }) => leftOut.map(({ address }) => address))).size,
    verdict: WORST[Math.max(0, ...verdicts.map((verdict) => WORST.indexOf(verdict)))]!,
    rate,
  };
}

function portText({ portName, protocol, frontends }: ServicePort): string {
  const port = frontends.find(({ kind }) => kind !== 'node-port')?.port ?? frontends[0]?.port ?? '';
  return `${portName === '' ? '' : `${portName} `}${port}/${protocol}`;
}

/** Undefined if no family has it. */
export function serviceShape(name: string, models: readonly NodeModel[], draw: DrawPort): ServiceShape | undefined {
  const ports = models.flatMap(({ family, services }) =>
    (services.get(name)?.ports ?? []).map((port) => portShape(port, family, draw)),
  );
  return ports.length === 0 ? undefined : { name, ports };
}

function portShape(port: ServicePort, family: Family, draw: DrawPort): PortShape {
  return {
    id: `${family} ${port.portName} ${port.protocol}`,
    family,
    displayName: port.displayName,
    protocol: port.protocol,
    internal: port.internal,
    external: port.external,
    affinityTimeoutSeconds: port.affinityTimeoutSeconds,
    sourceRanges: port.sourceRanges,
    ...draw(port, family),
    leftOut: port.leftOut.map(leftOutShape),
  };
}

/** Which service an address belongs to: what the rates of services are added up by. */
export function servicesByFrontend(models: readonly NodeModel[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { services } of models) {
    for (const [name, { ports }] of services)
      for (const port of ports) for (const frontend of port.frontends) names.set(frontendKey(port, frontend), name);
  }
  return names;
}

const MAX_MAP_ENDPOINTS = 60;

/** Where endpoints are. `counters` says which edges lead to an endpoint of a port. */
export function mapShape(node: string, models: readonly NodeModel[], counters: CountersOf): MapShape {
  const nodes = new Map<string, { zone: string | undefined; endpoints: Map<string, MapEndpoint> }>();
  nodes.set(node, { zone: undefined, endpoints: new Map() });
  for (const { services } of models) {
    for (const [name, { ports }] of services) {
      for (const port of ports) {
        for (const { ip, nodeName, zone, target, address } of port.backends.reachable) {
          const place = nodes.get(nodeName ?? OUTSIDE) ?? { zone, endpoints: new Map() };
          place.zone ??= zone;
          nodes.set(nodeName ?? OUTSIDE, place);
          const key = target ?? ip;
          const known = place.endpoints.get(key) ?? { target: key, ip, services: [], counters: [] };
          place.endpoints.set(key, {
            ...known,
            services: [...new Set([...known.services, name])],
            counters: [...known.counters, ...counters(port, address)],
          });
        }
      }
    }
  }
  return {
    node,
    nodes: [...nodes].map(([name, { zone, endpoints }]) => ({
      name,
      zone,
      endpoints: [...endpoints.values()].slice(0, MAX_MAP_ENDPOINTS),
      more: Math.max(0, endpoints.size - MAX_MAP_ENDPOINTS),
    })),
  };
}

export type CountersOf = (port: ServicePort, address: string) => readonly string[];

const OUTSIDE = 'outside the cluster';
