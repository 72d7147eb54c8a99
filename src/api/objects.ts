// The objects Portolan reads, cut down to what it needs: one allocation-light value per object, every text already checked
// and canonical (parse.ts does that), so that later stages never see a malformed field.
import type { Family } from '../lib/ip.ts';

export type Protocol = 'TCP' | 'UDP' | 'SCTP';

/** One list for each family; a family without entries has the shared empty list. */
export type PerFamily<T> = Readonly<Record<Family, T>>;

/** A Service that has a cluster IP. Headless and ExternalName Services never become one of these. */
export interface Service {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly type: string;
  readonly clusterIPs: Readonly<Partial<Record<Family, string>>>;
  readonly ports: readonly ServicePortSpec[];
  readonly externalIPs: PerFamily<readonly string[]>;
  /** Ingress addresses whose ipMode is VIP. */
  readonly loadBalancerIPs: PerFamily<readonly string[]>;
  /** Empty: every source is allowed. */
  readonly loadBalancerSourceRanges: PerFamily<readonly string[]>;
  /** 0: no session affinity. */
  readonly affinityTimeoutSeconds: number;
  readonly externalTrafficPolicyLocal: boolean;
  readonly internalTrafficPolicyLocal: boolean;
  /** 0: none. */
  readonly healthCheckNodePort: number;
}

export interface ServicePortSpec {
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
  /** 0: none. */
  readonly nodePort: number;
}

export interface EndpointSlice {
  readonly namespace: string;
  readonly name: string;
  /** Value of the label kubernetes.io/service-name. */
  readonly service: string;
  readonly family: Family;
  readonly ports: readonly SlicePort[];
  readonly endpoints: readonly Endpoint[];
  /** Milliseconds since 1970, from the annotation endpoints.kubernetes.io/last-change-trigger-time. */
  readonly lastChangeTriggerTime: number | undefined;
  /** Changes with every write at the API server; equal versions are equal objects. */
  readonly resourceVersion: string;
}

export interface SlicePort {
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
}

export interface Endpoint {
  readonly ip: string;
  readonly nodeName: string | undefined;
  readonly zone: string | undefined;
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly zoneHints: readonly string[];
  readonly nodeHints: readonly string[];
  /** `Pod shop/cart-7d9f`, where the slice says what stands behind the address. */
  readonly target: string | undefined;
}

export interface Node {
  readonly name: string;
  readonly uid: string;
  /** InternalIP addresses in order, then ExternalIP addresses. */
  readonly ips: readonly string[];
  readonly podCIDRs: readonly string[];
  /** Label topology.kubernetes.io/zone, '' if absent. */
  readonly zone: string;
  readonly isBeingDeleted: boolean;
  readonly taintKeys: readonly string[];
}

export interface ServiceCIDR {
  readonly name: string;
  readonly cidrs: readonly string[];
}

/** Something odd in the cluster: said once, worked around, never fatal. */
export interface Problem {
  /** `Service shop/cart` */
  readonly object: string;
  /** `spec.externalIPs[1]` */
  readonly field: string;
  /** `not an IP address: "10.0.0"; this entry is left out` */
  readonly reason: string;
}
