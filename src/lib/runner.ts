// Runs a function when asked, but not too often: never twice at once, never sooner than a pause after the last run, again
// after a failure, and now and then without being asked.
import type { Clock } from './clock.ts';

export interface RunnerOptions {
  /** True: it worked. Must not throw; what it throws all the same counts as a failure. */
  readonly run: () => Promise<boolean>;
  /** At least this long from the end of one run to the start of the next. */
  readonly pauseMs: number;
  /** After a failure, at most this long until the next run. */
  readonly retryMs: number;
  /** After a success, at most this long. */
  readonly idleMs: number;
  readonly clock: Clock;
}

export class Runner {
  readonly #options: RunnerOptions;
  #isAsked = false;
  #wake: () => void = () => {};

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /** Asks for a run. Asking again before it starts changes nothing; asking while one runs leads to one more. */
  request(): void {
    this.#isAsked = true;
    this.#wake();
  }

  /** Until the signal is aborted. */
  async loop(signal: AbortSignal): Promise<void> {
    const { run, pauseMs, retryMs, idleMs, clock } = this.#options;
    let waitMs = idleMs;
    while (!signal.aborted) {
      await this.#asked(waitMs, signal);
      if (signal.aborted) return;
      this.#isAsked = false;
      const worked = await run().catch(() => false);
      waitMs = Math.max(0, (worked ? idleMs : Math.min(retryMs, idleMs)) - pauseMs);
      await clock.wait(pauseMs, signal);
    }
  }

  async #asked(timeoutMs: number, signal: AbortSignal): Promise<void> {
    if (this.#isAsked || signal.aborted) return;
    const awake = new AbortController();
    const wake = (): void => awake.abort();
    this.#wake = wake;
    signal.addEventListener('abort', wake);
    await this.#options.clock.wait(timeoutMs, awake.signal);
    signal.removeEventListener('abort', wake);
    this.#wake = () => {};
  }
}
