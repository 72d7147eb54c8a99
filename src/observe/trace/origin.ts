// Where a rule comes from: which object, and which of its fields, made it necessary. The contract; each mode has its own answer.
import type { ServicePort } from '../../model/model.ts';
import type { Hop } from './packet.ts';

export interface Origin {
  /** `Service shop/cart`, `EndpointSlice shop/cart-x7k`, `KubeProxyConfiguration`. */
  readonly object: string;
  /** `spec.clusterIP`. */
  readonly fields: readonly string[];
  /** What the rule is for, in plain words. */
  readonly meaning: string;
}

export interface Origins {
  /** None for rules that are not the proxy's. */
  of(hop: Hop): readonly Origin[];
  /** True if the rule, or the chain it stands in, is the proxy's. */
  isOurs(hop: Hop): boolean;
}

export function serviceOf(port: ServicePort): string {
  return `Service ${port.namespace}/${port.serviceName}`;
}

/** `spec.ports[http].port`; an unnamed port has just `spec.ports[].port`. */
export function portField(port: ServicePort, field: 'port' | 'nodePort'): string {
  return `spec.ports[${port.portName}].${field}`;
}
