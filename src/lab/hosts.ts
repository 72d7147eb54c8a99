// The places of a lab by the names people use. In: `node1`, `client`, `customer`, `yaobank/summary-…`. Out: one host.
import type { Pod } from './apiserver/types.ts';

export interface Place {
  /** Its name in the network. */
  readonly host: string;
  /** The namespace in which it looks up short names. */
  readonly namespace: string;
}

export interface RunningPod {
  readonly pod: Pod;
  readonly host: string;
}

/** A pod may be called by its name, or by the beginning of it, with or without its namespace; the first that fits is taken. */
export function findPlace(
  wanted: string,
  hosts: readonly string[],
  pods: readonly RunningPod[],
): Place | { readonly problem: string } {
  if (hosts.includes(wanted)) return { host: wanted, namespace: 'default' };
  const [found] = podsNamed(wanted, pods);
  if (found) return { host: found.host, namespace: found.pod.metadata.namespace ?? 'default' };
  const names = [...hosts, ...pods.map(({ pod }) => pod.metadata.name)];
  return { problem: `no node or running pod is called ${wanted}; there are ${names.join(', ')}` };
}

/** Exact names first. */
export function podsNamed(wanted: string, pods: readonly RunningPod[]): readonly RunningPod[] {
  const slash = wanted.indexOf('/');
  const namespace = slash < 0 ? undefined : wanted.slice(0, slash);
  const name = wanted.slice(slash + 1);
  const inNamespace = pods.filter(({ pod }) => namespace === undefined || pod.metadata.namespace === namespace);
  const exact = inNamespace.filter(({ pod }) => pod.metadata.name === name);
  return exact.length > 0 ? exact : inNamespace.filter(({ pod }) => pod.metadata.name.startsWith(`${name}-`));
}
