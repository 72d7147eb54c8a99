// The relays of one family, by name. In: which should run. Out: the port of each. It owns their sockets.
import { KernelError } from '../../kernel/error.ts';
import { Balancer } from './balancer.ts';
import { ConnectionLog, type EndedConnection } from './connections.ts';
import type { RelayPlan } from './plan.ts';
import { candidates, type PortRange } from './ports.ts';
import type { Relay } from './relay.ts';
import type { OpenConnections, RelayHost } from './relay-host.ts';
import { TcpRelay } from './tcp-relay.ts';
import { UdpRelay } from './udp-relay.ts';

export interface RelaysOptions {
  readonly udpIdleTimeoutMs: number;
  readonly portRange?: PortRange;
  readonly log?: ConnectionLog;
  readonly random?: () => number;
  readonly now?: () => number;
}

export const DEFAULT_UDP_IDLE_TIMEOUT_MS = 250;

export class Relays implements RelayHost {
  readonly log: ConnectionLog;
  readonly #options: RelaysOptions;
  readonly #random: () => number;
  readonly #relays = new Map<string, Relay>();

  constructor(options: RelaysOptions) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
    this.log = options.log ?? new ConnectionLog();
  }

  get size(): number {
    return this.#relays.size;
  }

  portOf(key: string): number | undefined {
    return this.#relays.get(key)?.port;
  }

  async ensure(plan: RelayPlan, ip: string): Promise<void> {
    const running = this.#relays.get(plan.key);
    if (running) {
      running.balancer.set(plan.backends, plan.affinityTimeoutSeconds);
      return;
    }
    const relay = await this.#start(plan, ip);
    relay.balancer.set(plan.backends, plan.affinityTimeoutSeconds);
    this.#relays.set(plan.key, relay);
  }

  stop(key: string): void {
    this.#relays.get(key)?.stop();
    this.#relays.delete(key);
  }

  stopAll(): void {
    for (const key of [...this.#relays.keys()]) this.stop(key);
  }

  expire(): void {
    for (const { balancer } of this.#relays.values()) balancer.expire();
  }

  async connections(): Promise<OpenConnections> {
    return { open: this.log.open, mostOpen: this.log.mostOpen };
  }

  onEnded(listener: (connection: EndedConnection) => void): () => void {
    return this.log.onEnded(listener);
  }

  async #start(plan: RelayPlan, ip: string): Promise<Relay> {
    const { portRange } = this.#options;
    for (const port of portRange ? candidates(portRange, this.#random) : [0]) {
      const relay = this.#create(plan);
      try {
        await relay.listen(ip, port);
        return relay;
      } catch (error) {
        const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
        if (!portRange || !isTaken) throw cannotListen(plan, (error as Error).message, error);
      }
    }
    throw cannotListen(plan, 'there are no ports left in the range that relays may use');
  }

  #create({ service, protocol }: RelayPlan): Relay {
    const balancer = new Balancer({ now: this.#options.now ?? Date.now, random: this.#random });
    return protocol === 'TCP'
      ? new TcpRelay(service, balancer, this.log)
      : new UdpRelay(service, balancer, this.log, this.#options.udpIdleTimeoutMs);
  }
}

function cannotListen({ key }: RelayPlan, detail: string, cause?: unknown): KernelError {
  return new KernelError('KERNEL_REFUSED', { operation: `start a relay for ${key}`, detail, cause });
}
