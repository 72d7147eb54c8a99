// Measures a function: some rounds to warm up, then the median of the rest. A median stays put where a shared machine stutters.

export interface Rounds {
  readonly warmUp: number;
  readonly measured: number;
}

/** Milliseconds. `prepare` makes the input of a round and is not measured. */
export function medianMs<Input>(rounds: Rounds, prepare: () => Input, run: (input: Input) => unknown): number {
  const times: number[] = [];
  for (let round = 0; round < rounds.warmUp + rounds.measured; round++) {
    const input = prepare();
    globalThis.gc?.();
    const startedAt = performance.now();
    run(input);
    const took = performance.now() - startedAt;
    if (round >= rounds.warmUp) times.push(took);
  }
  return median(times);
}

/** The same for functions that wait for the kernel. */
export async function medianMsAsync(rounds: Rounds, run: (round: number) => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds.warmUp + rounds.measured; round++) {
    const startedAt = performance.now();
    await run(round);
    const took = performance.now() - startedAt;
    if (round >= rounds.warmUp) times.push(took);
  }
  return median(times);
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1]!;
}
