// Connections of each Service and endpoint as metrics, read where they are counted (the kernel, or relays) when somebody scrapes. How many Services are
// shown is bounded, by name, so that the same ones appear each time; how many were left out is a metric of its own.
import type { Family } from '../lib/ip.ts';
import type { ServicePort } from '../model/model.ts';
import type { Labels, NumberSample, Registry } from './metrics.ts';

export interface CountedFrontend {
  readonly port: ServicePort;
  /** `10.96.0.10:53`, `:30053` for a node port; `*` where all addresses of the port are counted as one. */
  readonly frontend: string;
  readonly connections: number;
  /** In modes that see the first packet of a connection alone. */
  readonly firstPacketBytes?: number;
  /** In modes that see every byte. */
  readonly bytes?: { readonly toEndpoint: number; readonly toClient: number };
}

export interface CountedEndpoint extends CountedFrontend {
  readonly endpoint: string;
}

export interface CountedServices {
  readonly frontends: readonly CountedFrontend[];
  readonly endpoints: readonly CountedEndpoint[];
}

export type ReadCounts = () => Promise<ReadonlyMap<Family, CountedServices>>;

const MAX_SERVICES = 1000;

export function addServiceMetrics(registry: Registry, read: ReadCounts): void {
  const latest = onceAScrape(read);
  const add = (name: string, help: string, of: (counts: Bounded) => readonly NumberSample[]): void =>
    registry.collected({ name, help: `[ALPHA] ${help}` }, 'counter', async () => (await latest()).flatMap(of));

  add('portolan_service_connections_total', 'New connections to an address of a Service', ({ family, frontends }) =>
    frontends.map((count) => ({ labels: frontendLabels(count, family), value: count.connections })),
  );
  add('portolan_service_first_packet_bytes_total', 'Bytes of the first packets of these', ({ family, frontends }) =>
    frontends.flatMap((count) =>
      count.firstPacketBytes === undefined
        ? []
        : [{ labels: frontendLabels(count, family), value: count.firstPacketBytes }],
    ),
  );
  add('portolan_service_bytes_total', 'Bytes to and from clients of a Service', ({ family, frontends }) =>
    frontends.flatMap((count) => byteSamples(count, frontendLabels(count, family))),
  );
  add(
    'portolan_endpoint_connections_total',
    'New connections sent to an endpoint, by the address dialled',
    ({ family, endpoints }) =>
      endpoints.map((count) => ({ labels: endpointLabels(count, family), value: count.connections })),
  );
  add(
    'portolan_endpoint_bytes_total',
    'Bytes to and from an endpoint, by the address dialled',
    ({ family, endpoints }) => endpoints.flatMap((count) => byteSamples(count, endpointLabels(count, family))),
  );
  registry.collected(
    {
      name: 'portolan_service_metrics_omitted',
      help: `[ALPHA] Services beyond the first ${MAX_SERVICES}, which are not shown`,
    },
    'gauge',
    async () => (await latest()).map(({ family, omitted }) => ({ labels: { ip_family: family }, value: omitted })),
  );
}

interface Bounded extends CountedServices {
  readonly family: Family;
  readonly omitted: number;
}

/** All metrics of one scrape are collected in one turn; they share one reading. */
function onceAScrape(read: ReadCounts): () => Promise<readonly Bounded[]> {
  let reading: Promise<readonly Bounded[]> | undefined;
  return () => {
    reading ??= read().then((families) => [...families].map(([family, counts]) => bounded(family, counts)));
    const current = reading;
    void current.finally(() => setImmediate(() => (reading = undefined))).catch(() => {});
    return current;
  };
}

function bounded(family: Family, { frontends, endpoints }: CountedServices): Bounded {
  const names = new Set([...new Set(frontends.map(serviceName))].sort().slice(0, MAX_SERVICES));
  const isShown = (count: CountedFrontend): boolean => names.has(serviceName(count));
  return {
    family,
    frontends: frontends.filter(isShown),
    endpoints: endpoints.filter(isShown),
    omitted: new Set(frontends.map(serviceName)).size - names.size,
  };
}

function serviceName({ port }: CountedFrontend): string {
  return `${port.namespace}/${port.serviceName}`;
}

function frontendLabels({ port, frontend }: CountedFrontend, family: Family): Labels {
  const { namespace, serviceName: service, portName, protocol } = port;
  return { namespace, service, port: portName, protocol, frontend, ip_family: family };
}

function endpointLabels(count: CountedEndpoint, family: Family): Labels {
  return { ...frontendLabels(count, family), endpoint: count.endpoint };
}

function byteSamples({ bytes }: CountedFrontend, labels: Labels): NumberSample[] {
  if (!bytes) return [];
  return [
    { labels: { ...labels, direction: 'to_endpoint' }, value: bytes.toEndpoint },
    { labels: { ...labels, direction: 'to_client' }, value: bytes.toClient },
  ];
}
