// What TCP and UDP relays have in common.
import type { Balancer } from './balancer.ts';

export interface Relay {
  readonly balancer: Balancer;
  /** Where it listens, once it does. */
  readonly port: number;
  listen(ip: string, port: number): Promise<void>;
  stop(): void;
}
