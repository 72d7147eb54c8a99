// In: the name of a Service as people type it.  Out: the Service, with what the cluster and the node's model know of it.
import type { EndpointSlice, Service } from '../api/objects.ts';
import { FAMILIES, type Family } from '../lib/ip.ts';
import type { Situation } from './trace-situation.ts';
import { UsageError } from './usage-error.ts';

export interface NamedService {
  /** `namespace/name` */
  readonly key: string;
  readonly service: Service;
  readonly slices: readonly EndpointSlice[];
  /** Those in which it has an address; the first is its primary one. */
  readonly families: readonly Family[];
}

/** `shop/cart`, or `cart` where only one namespace has it; with or without `svc/` in front. */
export function namedService(text: string, { cluster }: Situation): NamedService {
  const name = text.replace(/^(svc|service)\//, '');
  const { services } = cluster.tracker.take('IPv4');
  const found = [...services].filter(([key, service]) => key === name || service.name === name);
  if (found.length > 1) throw new UsageError(`${text}: which of ${found.map(([key]) => key).join(', ')}?`);
  const [only] = found;
  if (!only)
    throw new UsageError(`${text}: there is no such Service with a cluster IP${similar(name, services.keys())}`);
  const [key, service] = only;
  const families = FAMILIES.filter((family) => service.clusterIPs[family] !== undefined);
  const slices = FAMILIES.flatMap((family) => [...(cluster.tracker.take(family).slices.get(key)?.values() ?? [])]);
  return { key, service, slices: [...new Set(slices)], families };
}

function similar(name: string, keys: Iterable<string>): string {
  const own = name.slice(name.indexOf('/') + 1);
  const close = [...keys].filter((key) => key.includes(own) || own.includes(key.slice(key.indexOf('/') + 1)));
  return close.length > 0 ? `; there is ${close.slice(0, 3).join(', ')}` : ' (headless ones need no proxy)';
}
