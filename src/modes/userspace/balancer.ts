// Who answers next: backends in turn, and a client that is to stay with one stays. No sockets here, and no clock of its own.
import type { RelayBackend } from './plan.ts';

export interface BalancerOptions {
  readonly now: () => number;
  readonly random: () => number;
}

interface Loyalty {
  readonly address: string;
  lastUsedMs: number;
}

export class Balancer {
  readonly #options: BalancerOptions;
  #backends: readonly RelayBackend[] = [];
  #next = 0;
  #affinityTimeoutMs = 0;
  readonly #loyalties = new Map<string, Loyalty>();

  constructor(options: BalancerOptions) {
    this.#options = options;
  }

  get backends(): readonly RelayBackend[] {
    return this.#backends;
  }

  /** Clients that are bound to a backend at the moment, or were until recently. */
  get loyalClients(): number {
    return this.#loyalties.size;
  }

  /** The same backends, in whatever order, leave the turn where it is. */
  set(backends: readonly RelayBackend[], affinityTimeoutSeconds: number): void {
    this.#affinityTimeoutMs = affinityTimeoutSeconds * 1000;
    if (affinityTimeoutSeconds === 0) this.#loyalties.clear();
    const wanted = new Set(backends.map(({ address }) => address));
    const isSame = wanted.size === this.#backends.length && this.#backends.every(({ address }) => wanted.has(address));
    if (isSame) return;
    for (const [client, { address }] of this.#loyalties) if (!wanted.has(address)) this.#loyalties.delete(client);
    // Shuffled, so that relays of many nodes do not all begin with the same backend.
    this.#backends = shuffled(backends, this.#options.random);
    this.#next = 0;
  }

  /** `failed`: addresses that this client was sent to just now, in vain. Loyalty to them is over, and they are passed over
   *  while there are others. */
  choose(client: string, failed: ReadonlySet<string> = NONE): RelayBackend | undefined {
    if (this.#backends.length === 0) return undefined;
    const now = this.#options.now();
    const loyalty = this.#affinityTimeoutMs > 0 && failed.size === 0 ? this.#loyalties.get(client) : undefined;
    if (loyalty && now - loyalty.lastUsedMs < this.#affinityTimeoutMs) {
      loyalty.lastUsedMs = now;
      return this.#backends.find(({ address }) => address === loyalty.address);
    }
    const backend = this.#nextBut(failed);
    if (this.#affinityTimeoutMs > 0) this.#loyalties.set(client, { address: backend.address, lastUsedMs: now });
    return backend;
  }

  /** Forgets clients that have been away too long. */
  expire(): void {
    const oldest = this.#options.now() - this.#affinityTimeoutMs;
    for (const [client, { lastUsedMs }] of this.#loyalties) if (lastUsedMs <= oldest) this.#loyalties.delete(client);
  }

  #nextBut(failed: ReadonlySet<string>): RelayBackend {
    const { length } = this.#backends;
    let at = this.#next;
    for (let i = 0; i < length && failed.has(this.#backends[at]!.address); i++) at = (at + 1) % length;
    this.#next = (at + 1) % length;
    return this.#backends[at]!;
  }
}

const NONE: ReadonlySet<string> = new Set();

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const copy = [...items];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [copy[i], copy[j]] = [copy[j]!, copy[i]!];
  }
  return copy;
}
