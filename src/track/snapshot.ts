// What the cluster says at one moment, and what of it is new to the reader.
import type { EndpointSlice, Node, Service } from '../api/objects.ts';
import type { Family } from '../lib/ip.ts';

export interface Snapshot {
  readonly family: Family;
  /** By `namespace/name`. */
  readonly services: ReadonlyMap<string, Service>;
  /** By the owning Service's `namespace/name`, then by slice. */
  readonly slices: ReadonlyMap<string, ReadonlyMap<string, EndpointSlice>>;
  readonly node: Node | undefined;
  readonly serviceCIDRs: readonly string[];
  /** Services that changed, or whose slices of this family did, since the reader's last snapshot. */
  readonly changed: ReadonlySet<string>;
  /** True for a reader's first snapshot, and when something changed that concerns every service (the node's zone). */
  readonly isFresh: boolean;
  /** When the changed endpoints changed in the cluster, in milliseconds since 1970. */
  readonly triggerTimes: readonly number[];
}
