// What every part of the API server works on: the objects, the clock, and the plain facts of this cluster.
import type { Family } from '../../lib/ip.ts';
import type { Allocations } from './allocations.ts';
import type { Store } from './store.ts';
import type { ServiceCIDR } from './types.ts';

export interface ClusterFacts {
  /** The first is the primary one: a Service that asks for nothing gets an address of its family. */
  readonly families: readonly Family[];
  readonly nodePortRange: { readonly first: number; readonly last: number };
  /** Addresses for Services of type LoadBalancer. */
  readonly loadBalancerCIDRs: readonly string[];
}

export interface World {
  readonly store: Store;
  readonly now: () => Date;
  readonly facts: ClusterFacts;
  readonly allocations: Allocations;
}

/** The networks of cluster IPs: what the ServiceCIDR objects say. */
export function serviceCidrs({ store }: World): readonly string[] {
  return store.list('servicecidrs').flatMap(({ object }) => (object as ServiceCIDR).spec?.cidrs ?? []);
}
