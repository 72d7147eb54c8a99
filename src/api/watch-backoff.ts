// How long to wait after a failure: doubling, spread at random so that a thousand nodes do not come back in one moment.
import type { Clock } from '../lib/clock.ts';

const FIRST_MS = 800;
const LONGEST_MS = 30_000;
const CALM_MS = 120_000;

export class Backoff {
  readonly #clock: Clock;
  readonly #random: () => number;
  #nextMs = FIRST_MS;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Called once per failure. After two minutes without one, the waits start small again. */
  next(): number {
    const now = this.#clock.now();
    if (now - this.#failedAt > CALM_MS) this.#nextMs = FIRST_MS;
    this.#failedAt = now;
    const waitMs = this.#nextMs * (1 + this.#random());
    this.#nextMs = Math.min(this.#nextMs * 2, LONGEST_MS);
    return waitMs;
  }
}
