// One name for an address clients dial, whatever a mode calls it: `10.96.0.1 tcp 80`, `node tcp 30080`. Counters go by it.
import { hostPort } from '../../lib/ip.ts';
import type { Frontend, ServicePort } from '../../model/model.ts';

export function frontendKey({ protocol }: Pick<ServicePort, 'protocol'>, frontend: Frontend): string {
  return keyOf(frontend.kind === 'node-port' ? undefined : frontend.ip, protocol, frontend.port);
}

/** `ip` undefined: a port of the node. */
export function keyOf(ip: string | undefined, protocol: string, port: number | string): string {
  return `${ip ?? 'node'} ${protocol.toLowerCase()} ${port}`;
}

/** In nftables mode an endpoint is counted by the address that was dialled. */
export function endpointCounter(frontend: string, endpoint: string): string {
  return `${frontend}>${endpoint}`;
}

/** For people. */
export function frontendText(frontend: Frontend): string {
  return frontend.kind === 'node-port' ? `node:${frontend.port}` : hostPort(frontend.ip, frontend.port);
}
