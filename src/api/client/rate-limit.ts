// The token bucket in front of all requests of one agent, so that a node in trouble does not add to the server's.
import type { Clock } from '../../lib/clock.ts';

/** What clients of Kubernetes take 0 for. */
const DEFAULT_QPS = 5;
const DEFAULT_BURST = 10;

export class RateLimit {
  readonly #qps: number;
  readonly #burst: number;
  readonly #clock: Clock;
  #tokens: number;
  #filledAt: number;

  /** A negative qps is no limit; zero, of either, is the default. */
  constructor(qps: number, burst: number, clock: Clock) {
    this.#qps = qps || DEFAULT_QPS;
    this.#burst = burst || DEFAULT_BURST;
    this.#clock = clock;
    this.#tokens = this.#burst;
    this.#filledAt = clock.now();
  }

  /** Takes a token, waiting for it in line. Returns how long that took, in milliseconds. */
  async take(signal?: AbortSignal): Promise<number> {
    if (this.#qps < 0) return 0;
    const now = this.#clock.now();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#filledAt) / 1000) * this.#qps) - 1;
    this.#filledAt = now;
    if (this.#tokens >= 0) return 0;
    await this.#clock.wait((-this.#tokens / this.#qps) * 1000, signal);
    return this.#clock.now() - now;
  }
}
