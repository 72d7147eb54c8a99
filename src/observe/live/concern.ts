// In: a model of some of the cluster's Services.  Out: what a rule or row must name to be met by packets to them, so that of
// all that a kernel holds only this needs to be read. What names neither address nor port may be met by any packet.
import type { NodeModel } from '../../model/model.ts';

export interface Concern {
  /** Of frontends and backends: where packets go to, and where they are sent. */
  readonly ips: ReadonlySet<string>;
  readonly ports: ReadonlySet<number>;
  readonly nodePorts: ReadonlySet<number>;
}

export function concernOf({ services }: NodeModel): Concern {
  const ips = new Set<string>();
  const ports = new Set<number>();
  const nodePorts = new Set<number>();
  for (const { frontends, backends } of [...services.values()].flatMap((service) => service.ports)) {
    for (const frontend of frontends) {
      ports.add(frontend.port);
      if (frontend.kind === 'node-port') nodePorts.add(frontend.port);
      else ips.add(frontend.ip);
    }
    for (const { ip, port } of backends.reachable) {
      ips.add(ip);
      ports.add(port);
    }
  }
  return { ips, ports, nodePorts };
}

/** Addresses of this node are not among `ips`: a packet goes there only for a node port. */
export function isConcerned({ ips, nodePorts }: Concern, ip: string, port: number | undefined): boolean {
  return ips.has(ip) || (port !== undefined && nodePorts.has(port));
}
