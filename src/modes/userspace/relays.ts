// The relays of one family, by name. In: which should run. Out: the port of each. It owns their sockets.
import { KernelError } from '../../kernel/error.ts';
import { candidates, type PortRange } from '../../lib/port-range.ts';
import { Balancer } from './balancer.ts';
import { ConnectionLog, type EndedConnection, type RelayTotals } from './connections.ts';
import type { RelayPlan } from './plan.ts';
import type { Relay } from './relay.ts';
import type { RelayedConnections, RelayHost } from './relay-host.ts';
import { TcpRelay } from './tcp-relay.ts';
import { UdpRelay } from './udp-relay.ts';

export interface RelaysOptions {
  readonly udpIdleTimeoutMs: number;
  readonly portRange?: PortRange;
  readonly log?: ConnectionLog;
  readonly random?: () => number;
  readonly now?: () => number;
}

export class Relays implements RelayHost {
  readonly log: ConnectionLog;
  readonly #options: RelaysOptions;
  readonly #random: () => number;
  readonly #relays = new Map<string, Relay>();
  readonly #troubleListeners = new Set<(relay: string, error: Error) => void>();

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
    const addresses = plan.backends.map(({ address }) => address);
    if (running) {
      running.balancer.set(plan.backends, plan.affinityTimeoutSeconds);
      this.log.keepTotals(plan.key, addresses);
      return;
    }
    const relay = await this.#start(plan, ip);
    relay.balancer.set(plan.backends, plan.affinityTimeoutSeconds);
    this.log.keepTotals(plan.key, addresses);
    this.#relays.set(plan.key, relay);
  }

  stop(key: string): void {
    this.#relays.get(key)?.stop();
    this.#relays.delete(key);
    this.log.forgetTotals(key);
  }

  stopAll(): void {
    for (const key of [...this.#relays.keys()]) this.stop(key);
  }

  expire(): void {
    for (const { balancer } of this.#relays.values()) balancer.expire();
  }

  async connections(): Promise<RelayedConnections> {
    const { open, mostOpen, ended } = this.log;
    return { open, mostOpen, ended };
  }

  async totals(): Promise<readonly RelayTotals[]> {
    return this.log.totals;
  }

  onEnded(listener: (connection: EndedConnection) => void): () => void {
    return this.log.onEnded(listener);
  }

  onTrouble(listener: (relay: string, error: Error) => void): () => void {
    this.#troubleListeners.add(listener);
    return () => this.#troubleListeners.delete(listener);
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
    throw cannotListen(plan, NO_PORTS);
  }

  #create(plan: RelayPlan): Relay {
    const balancer = new Balancer({ now: this.#options.now ?? Date.now, random: this.#random });
    if (plan.protocol === 'UDP') return new UdpRelay(plan, balancer, this.log, this.#options.udpIdleTimeoutMs);
    return new TcpRelay(plan, balancer, this.log, (error) => {
      for (const listener of this.#troubleListeners) listener(plan.key, error);
    });
  }
}

/** In the words that runbooks know. */
const NO_PORTS = 'port allocation failed; there are no remaining ports left to allocate in the accepted range';

function cannotListen({ key }: RelayPlan, detail: string, cause?: unknown): KernelError {
  return new KernelError('KERNEL_REFUSED', { operation: `start a relay for ${key}`, detail, cause });
}
