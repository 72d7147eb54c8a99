// In: what --from and --to say.  Out: the client and the destination they mean.
import { type Family, familyOf, isLoopback, parseIp } from '../lib/ip.ts';
import { addressOutside, type Client, podClient } from '../observe/trace/clients.ts';
import type { OfflineCluster } from './manifests.ts';
import type { FamilySituation, Situation } from './trace-situation.ts';
import { UsageError } from './usage-error.ts';

export interface Destination {
  readonly ip: string;
  readonly port: number;
  readonly protocol: string;
}

/** `10.96.0.1:443`, `[fd00::1]:53/udp`, `node:30080`, `shop/cart:http`, `svc/cart`. */
export function destinationOf(text: string, { cluster, nodeName }: Situation): Destination {
  const [address, protocol = 'tcp'] = text.split(/\/(?=tcp$|udp$|sctp$)/) as [string, string | undefined];
  const hostAndPort = /^\[?([0-9a-fA-F:.]+?)\]?:(\d+)$/.exec(address);
  const ip = hostAndPort && parseIp(hostAndPort[1]!);
  if (ip) return { ip, port: Number(hostAndPort[2]), protocol };

  const onNode = /^node:(\d+)$/.exec(address);
  if (onNode) {
    const node = cluster.nodes.find(({ name }) => name === nodeName);
    if (!node?.ips[0]) throw new UsageError(`--to ${text}: the address of node ${nodeName || '?'} is not known`);
    return { ip: node.ips[0], port: Number(onNode[1]), protocol };
  }
  return serviceDestination(text, address, protocol, cluster);
}

function serviceDestination(text: string, address: string, protocol: string, cluster: OfflineCluster): Destination {
  const [, name = '', port] = /^(?:svc\/|service\/)?([^:]+)(?::(.+))?$/.exec(address) ?? [];
  const snapshot = cluster.tracker.take('IPv4');
  const services = [...snapshot.services.values()].filter(
    (service) => `${service.namespace}/${service.name}` === name || service.name === name,
  );
  if (services.length === 0) throw new UsageError(`--to ${text}: no Service of this name, and no address with a port`);
  if (services.length > 1)
    throw new UsageError(
      `--to ${text}: ${services.map((s) => `${s.namespace}/${s.name}`).join(', ')} all have this name`,
    );
  const [service] = services;
  const isUdpAsked = text.endsWith('/udp') || text.endsWith('/sctp');
  const ports = service!.ports.filter(
    (spec) =>
      (port === undefined || spec.name === port || String(spec.port) === port) &&
      (!isUdpAsked || spec.protocol.toLowerCase() === protocol),
  );
  if (ports.length !== 1 && port === undefined)
    throw new UsageError(`--to ${text}: which port? ${service!.ports.map((p) => p.name || p.port).join(', ')}`);
  if (ports.length === 0) throw new UsageError(`--to ${text}: the Service has no such port`);
  const ip = service!.clusterIPs.IPv4 ?? service!.clusterIPs.IPv6;
  return { ip: ip!, port: ports[0]!.port, protocol: ports[0]!.protocol.toLowerCase() };
}

/** An address, `node`, `outside`, `pod` (any that is no endpoint), or a pod's name. */
export function clientOf(
  text: string,
  to: Destination,
  device: string | undefined,
  cluster: OfflineCluster,
  { view, detector, host, book }: FamilySituation,
): Client {
  const family = familyOf(to.ip);
  const ip = parseIp(text);
  if (ip !== undefined) {
    if (familyOf(ip) !== family) throw new UsageError(`--from ${text}: --to is ${family}`);
    return { name: text, ip, device, isThisHost: host.isOwnAddress(ip) || isLoopback(ip) };
  }
  if (text === 'node') {
    const isToItself = isLoopback(to.ip) || host.isOwnAddress(to.ip);
    return { name: 'this node', ip: isToItself ? to.ip : host.address, device: undefined, isThisHost: true };
  }
  if (text === 'outside') {
    const inside = detector.kind === 'source' ? [detector.cidr] : [];
    return { name: 'an outside client', ip: addressOutside(family, inside)!, device, isThisHost: false };
  }
  if (text === 'pod') {
    const pod = podClient(family, detector, view.settings.podCIDRs, (address) => book.hasBackendIp(address));
    if (!pod) throw new UsageError('--from pod: the network of pods is not known; give an address, or --cluster-cidr');
    return { ...pod, device: device ?? pod.device };
  }
  return { name: text, ip: podAddress(text, family, cluster), device, isThisHost: false };
}

/** Pods are known by themselves, or as what stands behind an endpoint. */
function podAddress(text: string, family: Family, cluster: OfflineCluster): string {
  const name = text.replace(/^pods?\//, '');
  const isNamed = (namespace: string, pod: string): boolean => pod === name || `${namespace}/${pod}` === name;
  const found = new Set(
    cluster.pods
      .filter((pod) => isNamed(pod.namespace, pod.name))
      .flatMap(({ ips }) => ips.filter((ip) => familyOf(ip) === family)),
  );
  for (const slices of cluster.tracker.take(family).slices.values()) {
    for (const slice of slices.values()) {
      for (const endpoint of slice.endpoints) {
        const [, namespace = '', pod = ''] = /^Pod (.+)\/(.+)$/.exec(endpoint.target ?? '') ?? [];
        if (isNamed(namespace, pod) && familyOf(endpoint.ip) === family) found.add(endpoint.ip);
      }
    }
  }
  if (found.size === 0)
    throw new UsageError(`--from ${text}: no address, no Pod of this name, nor node, pod or outside`);
  if (found.size > 1) throw new UsageError(`--from ${text}: several Pods have this name; say NAMESPACE/NAME`);
  return [...found][0]!;
}
