// In: the words of a trace form.  Out: the client and the destination they mean, looked up in what this node knows.
import { type Family, familyOf, isLoopback, parseIp } from '../../lib/ip.ts';
import type { NodeModel, ServicePort } from '../../model/model.ts';
import type { LocalDetector } from '../../modes/local-detector.ts';
import { addressOutside, type Client, podClient } from '../trace/clients.ts';
import type { AddressBook } from '../trace/frontends.ts';
import type { Surroundings } from '../trace/packet.ts';

/** Somebody asked for what there is not. */
export class TraceQuestionError extends Error {
  override readonly name = 'TraceQuestionError';
}

export interface TraceDestination {
  readonly ip: string;
  readonly port: number;
  readonly protocol: string;
}

/** `10.96.0.1:443`, `[fd00::1]:53/udp`, `node:30080`, `shop/cart`, `shop/cart:http`, `svc/cart`. */
export function traceDestination(
  text: string,
  models: readonly NodeModel[],
  nodeIps: Readonly<Partial<Record<Family, string>>>,
): TraceDestination {
  const [address, protocol] = text.trim().split(/\/(?=tcp$|udp$|sctp$)/i) as [string, string | undefined];
  const [, host = '', port = ''] = /^\[?([^\]]+?)\]?:(\d+)$/.exec(address) ?? [];
  const ip = host === 'node' ? (nodeIps[models[0]?.family ?? 'IPv4'] ?? undefined) : parseIp(host);
  if (ip) return { ip, port: Number(port), protocol: (protocol ?? 'tcp').toLowerCase() };
  return serviceDestination(text, address, protocol, models);
}

function serviceDestination(
  text: string,
  address: string,
  protocol: string | undefined,
  models: readonly NodeModel[],
): TraceDestination {
  const [, name = '', wanted] = /^(?:svc\/|service\/)?([^:]+)(?::(.+))?$/.exec(address) ?? [];
  const named = [...new Set(models.flatMap(({ services }) => [...services.keys()]))].filter(
    (key) => key === name || key.endsWith(`/${name}`),
  );
  if (named.length === 0)
    throw new TraceQuestionError(`to ${text}: no Service of this name, and no address with a port`);
  if (named.length > 1) throw new TraceQuestionError(`to ${text}: ${named.join(', ')} all have this name`);
  const ports = models.flatMap(({ services }) => services.get(named[0]!)?.ports ?? []);
  const fits = ports.filter(
    (port) => isWanted(port, wanted) && (!protocol || port.protocol.toLowerCase() === protocol),
  );
  const distinct = new Set(fits.map(({ portName, protocol: transport }) => `${portName} ${transport}`));
  if (distinct.size > 1)
    throw new TraceQuestionError(
      `to ${text}: which port? ${fits.map((port) => port.portName || clusterPort(port)).join(', ')}`,
    );
  for (const port of fits) {
    const frontend = port.frontends[0];
    if (frontend && frontend.kind !== 'node-port')
      return { ip: frontend.ip, port: frontend.port, protocol: port.protocol.toLowerCase() };
  }
  throw new TraceQuestionError(`to ${text}: the Service has no such port with an address`);
}

function isWanted(port: ServicePort, wanted: string | undefined): boolean {
  return wanted === undefined || port.portName === wanted || String(clusterPort(port)) === wanted;
}

function clusterPort({ frontends }: ServicePort): number | undefined {
  return frontends.find(({ kind }) => kind !== 'node-port')?.port;
}

export interface ClientContext {
  readonly family: Family;
  readonly host: Surroundings;
  readonly detector: LocalDetector;
  readonly podCIDRs: readonly string[];
  readonly book: AddressBook;
}

/** An address, `node`, `outside`, `pod` (any that is no endpoint), or the name of a pod that stands behind an endpoint. */
export function traceClient(text: string, to: TraceDestination, context: ClientContext): Client {
  const { family, host, detector, podCIDRs, book } = context;
  const ip = parseIp(text);
  if (ip !== undefined) {
    if (familyOf(ip) !== family) throw new TraceQuestionError(`from ${text}: the destination is ${family}`);
    return { name: text, ip, device: undefined, isThisHost: host.isOwnAddress(ip) || isLoopback(ip) };
  }
  switch (text) {
    case 'node': {
      const isToItself = isLoopback(to.ip) || host.isOwnAddress(to.ip);
      return { name: 'this node', ip: isToItself ? to.ip : host.address, device: undefined, isThisHost: true };
    }
    case 'outside': {
      const inside = [...podCIDRs, ...(detector.kind === 'source' ? [detector.cidr] : [])];
      return { name: 'an outside client', ip: addressOutside(family, inside)!, device: undefined, isThisHost: false };
    }
    case 'pod': {
      const pod = podClient(family, detector, podCIDRs, (address) => book.hasBackendIp(address));
      if (!pod) throw new TraceQuestionError('from pod: the network of pods is not known; give an address');
      return pod;
    }
    default:
      return { name: text, ip: podAddress(text, book), device: undefined, isThisHost: false };
  }
}

function podAddress(text: string, book: AddressBook): string {
  const name = text.replace(/^pods?\//, '');
  const found = new Set<string>();
  for (const { backends } of book.ports)
    for (const { target, ip } of backends.reachable)
      if (target === `Pod ${name}` || (target?.startsWith('Pod ') && target.endsWith(`/${name}`))) found.add(ip);
  if (found.size === 0)
    throw new TraceQuestionError(`from ${text}: no address, no endpoint's Pod, nor node, pod or outside`);
  if (found.size > 1) throw new TraceQuestionError(`from ${text}: several Pods have this name; say NAMESPACE/NAME`);
  return [...found][0]!;
}
