// In: a NodeModel.  Out: which service port an address belongs to, and which backend: what names in a trace are looked up in.
import type { Backend, Frontend, NodeModel, ServicePort } from '../../model/model.ts';

export interface FrontendOf {
  readonly port: ServicePort;
  readonly frontend: Frontend;
}

export class AddressBook {
  readonly ports: readonly ServicePort[];
  readonly #frontends = new Map<string, FrontendOf>();
  readonly #byIp = new Map<string, readonly FrontendOf[]>();
  readonly #backends = new Map<string, Backend>();
  readonly #backendIps = new Set<string>();

  constructor(model: NodeModel) {
    this.ports = [...model.services.values()].flatMap(({ ports }) => ports);
    for (const port of this.ports) {
      for (const frontend of port.frontends) {
        this.#frontends.set(addressOf(port, frontend), { port, frontend });
        if (frontend.kind === 'node-port') continue;
        this.#byIp.set(frontend.ip, [...(this.#byIp.get(frontend.ip) ?? []), { port, frontend }]);
      }
      for (const backend of port.backends.reachable) {
        this.#backends.set(backend.address, backend);
        this.#backendIps.add(backend.ip);
      }
    }
  }

  /** `ip` undefined: the node port. */
  frontend(ip: string | undefined, protocol: string, port: number): FrontendOf | undefined {
    return this.#frontends.get(key(ip ?? '', protocol, port));
  }

  /** The frontend at which a packet was first sent: an address of a Service, else a node port. */
  asked(ip: string, protocol: string, port: number): FrontendOf | undefined {
    return this.frontend(ip, protocol, port) ?? this.frontend(undefined, protocol, port);
  }

  /** Services may share endpoints, each with an EndpointSlice of its own: `of` is the one that was asked. */
  backend(address: string, of?: ServicePort): Backend | undefined {
    return of?.backends.reachable.find((backend) => backend.address === address) ?? this.#backends.get(address);
  }

  /** Every port that is served at an address, whatever the asked one is. */
  servedAt(ip: string): readonly FrontendOf[] {
    return this.#byIp.get(ip) ?? [];
  }

  /** Of others, those that say the same address is theirs. */
  rivalsOf({ port, frontend }: FrontendOf): readonly ServicePort[] {
    const wanted = addressOf(port, frontend);
    return this.ports.filter((one) => one !== port && one.frontends.some((own) => addressOf(one, own) === wanted));
  }

  hasBackendIp(ip: string): boolean {
    return this.#backendIps.has(ip);
  }
}

/** What a packet must ask for to be the port's; Services that say the same are rivals. */
export function addressOf({ protocol }: ServicePort, frontend: Frontend): string {
  return key(frontend.kind === 'node-port' ? '' : frontend.ip, protocol, frontend.port);
}

function key(ip: string, protocol: string, port: number): string {
  return `${ip} ${protocol.toUpperCase()} ${port}`;
}
