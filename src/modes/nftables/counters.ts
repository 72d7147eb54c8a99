// In: the rows of the kernel with their counters, and the model.  Out: new connections of each address and of each endpoint.
// A row is hit once for each connection, by its first packet; so packets are connections, and bytes are those of first packets.
import type { NftHeldElement } from '../../kernel/nftables-objects.ts';
import { hostPort } from '../../lib/ip.ts';
import type { NodeModel, ServicePort } from '../../model/model.ts';
import type { NftablesDriver } from './apply.ts';
import { transportOf } from './names.ts';
import { endpointMap, fixedSets, TRANSPORTS } from './sets.ts';

export interface FrontendCount {
  readonly port: ServicePort;
  /** `10.96.0.10:53`, `:30053` for a node port. */
  readonly frontend: string;
  readonly connections: number;
  readonly bytes: number;
}

export interface EndpointCount extends FrontendCount {
  /** `10.244.1.7:5353` */
  readonly endpoint: string;
}

export interface ServiceCounts {
  readonly frontends: readonly FrontendCount[];
  readonly endpoints: readonly EndpointCount[];
}

/** Reads the counted maps of one family. */
export async function readCounts(driver: NftablesDriver, model: NodeModel): Promise<ServiceCounts> {
  const { nftables, table, hasCounters } = driver;
  const sets = new Map(
    fixedSets({ family: table.family, hasCounters, hasNodePortIps: true }).map((set) => [set.name, set]),
  );
  const rows = async (name: string): Promise<readonly NftHeldElement[]> =>
    nftables.listElements(table, sets.get(name)!);
  const owners = ownersOf(model);

  const frontends = [...(await rows('service-ips')), ...(await rows('service-nodeports'))].flatMap(
    (row): FrontendCount[] => {
      const owner = owners.get(row.key);
      return owner ? [{ ...owner, ...countOf(row) }] : [];
    },
  );
  const endpoints: EndpointCount[] = [];
  for (const transport of TRANSPORTS) {
    for (const isNodePort of [false, true]) {
      for (const row of await rows(endpointMap(transport, isNodePort))) {
        const parts = row.key.split(' . ').slice(0, -1); // without the endpoint's number
        const key = isNodePort ? `${transport} . ${parts[0]}` : `${parts[0]} . ${transport} . ${parts[1]}`;
        const owner = owners.get(key);
        if (owner) endpoints.push({ ...owner, endpoint: addressOf(row.value ?? ''), ...countOf(row) });
      }
    }
  }
  return { frontends, endpoints };
}

/** By the key of its row: whose address it is. */
function ownersOf(model: NodeModel): ReadonlyMap<string, Pick<FrontendCount, 'port' | 'frontend'>> {
  const owners = new Map<string, Pick<FrontendCount, 'port' | 'frontend'>>();
  for (const service of model.services.values()) {
    for (const port of service.ports) {
      for (const frontend of port.frontends) {
        const transport = transportOf(port);
        if (frontend.kind === 'node-port')
          owners.set(`${transport} . ${frontend.port}`, { port, frontend: `:${frontend.port}` });
        else
          owners.set(`${frontend.ip} . ${transport} . ${frontend.port}`, {
            port,
            frontend: hostPort(frontend.ip, frontend.port),
          });
      }
    }
  }
  return owners;
}

/** `10.244.1.7 . 5353` as people write it. */
function addressOf(value: string): string {
  const [ip = '', port] = value.split(' . ');
  return hostPort(ip, Number(port));
}

function countOf({ packets, bytes }: NftHeldElement): { connections: number; bytes: number } {
  return { connections: Number(packets ?? 0n), bytes: Number(bytes ?? 0n) };
}
