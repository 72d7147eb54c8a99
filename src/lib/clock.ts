// Time as an argument. What waits or measures takes a Clock, so that a test can run minutes in no time, and so that nobody
// measures with the wall clock, which people and NTP move.

export interface Clock {
  /** Milliseconds that only ever go forward, from an arbitrary start. For durations. */
  now(): number;
  /** Milliseconds since 1970, as the machine believes. For what is shown or sent to others. */
  wallNow(): number;
  /** Ends after so many milliseconds, or at once and quietly when the signal is aborted. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wallNow: () => Date.now(),
  wait: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener('abort', done);
    }),
};
