// What this node owes its clients, in one IP family: the contract between model/ (which decides) and modes/ (which plan).
// A mode never asks what a traffic policy or a topology hint is; it finds the answer here.
import type { Protocol } from '../api/objects.ts';
import type { Family } from '../lib/ip.ts';

/** Everything one family's rules are planned from. Unchanged services keep their identity from one model to the next. */
export interface NodeModel {
  readonly family: Family;
  /** By `namespace/name`. Services without a record in this family are absent. */
  readonly services: ReadonlyMap<string, ServiceModel>;
  /** Names of the services that differ from the model before, removed ones included. */
  readonly changed: ReadonlySet<string>;
  /** True if one of them has, or had, a UDP port. */
  readonly changedUdp: boolean;
  /** True if the model was resolved from nothing: every service counts as changed. */
  readonly isFresh: boolean;
  /** Endpoints over all service ports, unfiltered: what upstream measures a cluster's size by. */
  readonly endpointCount: number;
  readonly withoutLocalEndpoints: Readonly<Record<PolicySide, LocalLack>>;
  /** The services that load balancers check on a port of this node, by name. */
  readonly healthChecked: ReadonlyMap<string, ServiceModel>;
  readonly serviceCIDRs: readonly string[];
}

export type PolicySide = 'internal' | 'external';

/** How many have endpoints, but under their Local policy none here. */
export interface LocalLack {
  readonly ports: number;
  /** With at least one such port. */
  readonly services: number;
}

export interface ServiceModel {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly ports: readonly ServicePort[];
  /** Port of the health check for load balancers, 0: none. */
  readonly healthCheckNodePort: number;
  /** Distinct addresses of ready endpoints on this node: the weight told to load balancers. */
  readonly localReadyEndpoints: number;
  readonly endpointCount: number;
}

/** One port of one Service: its addresses, and who answers them. */
export interface ServicePort {
  /** `shop/cart:http`, or `shop/cart` for an unnamed port. */
  readonly displayName: string;
  readonly namespace: string;
  readonly serviceName: string;
  readonly portName: string;
  readonly protocol: Protocol;
  /** Every address clients may dial, in the order: cluster IP, external IPs, load-balancer IPs, node port. */
  readonly frontends: readonly Frontend[];
  readonly internal: TrafficClass;
  readonly external: TrafficClass;
  /** True if an endpoint somewhere in the cluster can be used, even if not from here. */
  readonly hasEndpoints: boolean;
  /** True if anything but the cluster IP leads here. */
  readonly isExternallyAccessible: boolean;
  readonly backends: BackendLists;
  /** 0: no session affinity. */
  readonly affinityTimeoutSeconds: number;
  /** Networks that may use the load-balancer IPs; empty: all. */
  readonly sourceRanges: readonly string[];
  /** True if a source range contains this node, so that the load-balancer IPs themselves are sources to admit. */
  readonly sourceRangesIncludeNode: boolean;
  readonly healthCheckNodePort: number;
  /** Endpoints that are not used, each with the reason. */
  readonly leftOut: readonly LeftOut[];
  /** ip:port of every endpoint that says it is serving, usable or not: UDP flows to any other are stale. */
  readonly serving: readonly string[];
}

export type FrontendKind = 'cluster-ip' | 'external-ip' | 'load-balancer-ip' | 'node-port';

/** An address clients dial. */
export type Frontend =
  | { readonly kind: 'cluster-ip' | 'external-ip' | 'load-balancer-ip'; readonly ip: string; readonly port: number }
  | { readonly kind: 'node-port'; readonly port: number };

/** How traffic to the internal (cluster IP) or external (all other) frontends is treated. */
export interface TrafficClass {
  /** Which list the traffic policy chooses from. */
  readonly over: 'cluster' | 'local';
  /** What a client gets that is not short-circuited. `reject`: no endpoint anywhere. `drop`: none on this node. */
  readonly verdict: 'balance' | 'reject' | 'drop';
  /** External with policy Local: pods and processes of this node are still sent to the cluster list. */
  readonly shortCircuitsLocalClients: boolean;
}

export interface BackendLists {
  /** Under policy Cluster, after topology hints; sorted by ip:port text. Empty where no frontend uses it. */
  readonly cluster: readonly Backend[];
  /** Under policy Local. Empty where no frontend uses it. */
  readonly local: readonly Backend[];
  /** The union of both. */
  readonly reachable: readonly Backend[];
}

/** An endpoint this node may choose. */
export interface Backend {
  readonly ip: string;
  readonly port: number;
  /** `ip:port`, its identity. */
  readonly address: string;
  readonly isLocal: boolean;
  readonly nodeName: string | undefined;
  readonly zone: string | undefined;
  readonly target: string | undefined;
  /** Name of the EndpointSlice it comes from. */
  readonly slice: string;
  /** True if it is used only because no ready endpoint is left. */
  readonly isTerminating: boolean;
}

export interface LeftOut {
  readonly address: string;
  readonly nodeName: string | undefined;
  readonly target: string | undefined;
  readonly slice: string;
  readonly reason: LeftOutReason;
}

export type LeftOutReason =
  | 'not-ready' // neither ready, nor serving while it terminates
  | 'terminating' // still serving, but ready endpoints exist
  | 'other-zone' // hints keep traffic in this node's zone
  | 'other-node' // hints keep traffic on this node
  | 'not-local'; // every policy of the service asks for local endpoints
