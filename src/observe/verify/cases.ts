// In: one service port.  Out: every question worth asking about it: each frontend, asked by each kind of client.
import type { Family } from '../../lib/ip.ts';
import type { ServicePort } from '../../model/model.ts';
import { addressWithin, type Client } from '../trace/clients.ts';
import type { Knock } from './meaning.ts';

export interface Neighbourhood {
  readonly family: Family;
  /** A pod of this node that is no endpoint, where one can be imagined. */
  readonly pod: Client | undefined;
  readonly outside: Client;
  readonly nodeIp: string;
  /** What a process of this node sends to such an address has it as its source too. */
  readonly isOwnIp: (ip: string) => boolean;
  /** Addresses on which node ports are asked. */
  readonly nodePortIps: readonly string[];
  readonly asksLoopback: boolean;
}

export function* casesOf(port: ServicePort, around: Neighbourhood): Generator<Knock> {
  for (const frontend of port.frontends) {
    const destinations = frontend.kind === 'node-port' ? around.nodePortIps : [frontend.ip];
    for (const dst of destinations) {
      for (const client of clientsOf(port, dst, around)) yield { port, frontend, dst, client };
      if (frontend.kind === 'load-balancer-ip')
        for (const client of rangeClients(port, around.outside.device)) yield { port, frontend, dst, client };
    }
    if (frontend.kind === 'node-port' && around.asksLoopback)
      yield { port, frontend, dst: LOOPBACK, client: host(LOOPBACK) };
  }
}

const LOOPBACK = '127.0.0.1';

function clientsOf(
  port: ServicePort,
  dst: string,
  { pod, outside, nodeIp, nodePortIps, isOwnIp }: Neighbourhood,
): readonly Client[] {
  return [
    ...(pod ? [pod] : []),
    host(nodePortIps.includes(dst) || isOwnIp(dst) ? dst : nodeIp),
    outside,
    ...port.backends.reachable
      .filter(({ isLocal, ip }) => isLocal && ip !== nodeIp)
      .map(({ ip }) => ({ name: 'an endpoint itself', ip, device: pod?.device, isThisHost: false })),
  ];
}

function host(ip: string): Client {
  return { name: 'this node', ip, device: undefined, isThisHost: true };
}

/** One client of each network that may use the address. */
function rangeClients({ sourceRanges }: ServicePort, device: string | undefined): readonly Client[] {
  return sourceRanges.flatMap((range) => {
    const ip = addressWithin(range, () => false);
    return ip === undefined ? [] : [{ name: `a client of ${range}`, ip, device, isThisHost: false }];
  });
}
