// What virtual and real servers have been given, by the addresses of Services.  In: the model and IPVS.  Out: connections and bytes of every
// address and each of its endpoints, since they are there. A node port has a virtual server on each address of the node; they are one here.
import type { Ipvs } from '../../kernel/ipvs.ts';
import type { IpvsTraffic, ServerKey } from '../../kernel/ipvs-codec.ts';
import { hostPort } from '../../lib/ip.ts';
import type { Frontend, NodeModel, ServicePort } from '../../model/model.ts';
import type { IpvsFacts } from './facts.ts';
import { serverKey } from './part.ts';

export interface FrontendTraffic extends IpvsTraffic {
  readonly port: ServicePort;
  /** `10.96.0.10:53`, or `:30053` for a node port. */
  readonly address: string;
  /** By `ip:port`; those that only finish what they have are there too. */
  readonly endpoints: ReadonlyMap<string, IpvsTraffic>;
}

type ReadIpvs = Pick<Ipvs, 'serverTraffic' | 'backendTraffic'>;
type CountedServer = ServerKey & IpvsTraffic;

const NO_TRAFFIC: IpvsTraffic = { connections: 0, bytesIn: 0, bytesOut: 0 };

export async function readTraffic(
  ipvs: ReadIpvs,
  model: NodeModel,
  { nodePortAddresses }: Pick<IpvsFacts, 'nodePortAddresses'>,
): Promise<FrontendTraffic[]> {
  const servers = new Map((await ipvs.serverTraffic()).map((server) => [serverKey(server), server]));
  const read: FrontendTraffic[] = [];
  for (const port of [...model.services.values()].flatMap(({ ports }) => ports)) {
    for (const frontend of port.frontends) {
      const ips = frontend.kind === 'node-port' ? nodePortAddresses : [frontend.ip];
      const keys = ips.map((ip) => serverKey({ protocol: port.protocol, ip, port: frontend.port }));
      const own = keys.flatMap((key) => servers.get(key) ?? []);
      const endpoints = await endpointTraffic(ipvs, own);
      read.push({ port, address: addressOf(frontend), endpoints, ...own.reduce<IpvsTraffic>(together, NO_TRAFFIC) });
    }
  }
  return read;
}

async function endpointTraffic(ipvs: ReadIpvs, servers: readonly CountedServer[]): Promise<Map<string, IpvsTraffic>> {
  const endpoints = new Map<string, IpvsTraffic>();
  for (const server of servers) {
    for (const backend of await ipvs.backendTraffic(server)) {
      const address = hostPort(backend.ip, backend.port);
      endpoints.set(address, together(endpoints.get(address) ?? NO_TRAFFIC, backend));
    }
  }
  return endpoints;
}

function addressOf(frontend: Frontend): string {
  return frontend.kind === 'node-port' ? `:${frontend.port}` : hostPort(frontend.ip, frontend.port);
}

function together(a: IpvsTraffic, b: IpvsTraffic): IpvsTraffic {
  return {
    connections: a.connections + b.connections,
    bytesIn: a.bytesIn + b.bytesIn,
    bytesOut: a.bytesOut + b.bytesOut,
  };
}
