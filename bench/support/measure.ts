// Measures a function: some rounds to warm up, then the median of the rest. A median stays put where a shared machine stutters.

export interface Rounds {
  readonly warmUp: number;
  readonly measured: number;
}

export interface Measured {
  readonly wallMs: number;
  /** Of all threads of this process: what is left of the figure when others keep the machine busy. */
  readonly cpuMs: number;
}

/** `prepare` makes the input of a round and is not measured. */
export function medianOf<Input>(rounds: Rounds, prepare: () => Input, run: (input: Input) => unknown): Measured {
  const wall: number[] = [];
  const cpu: number[] = [];
  for (let round = 0; round < rounds.warmUp + rounds.measured; round++) {
    const input = prepare();
    globalThis.gc?.();
    const cpuBefore = process.cpuUsage();
    const startedAt = performance.now();
    run(input);
    const took = performance.now() - startedAt;
    const { user, system } = process.cpuUsage(cpuBefore);
    if (round < rounds.warmUp) continue;
    wall.push(took);
    cpu.push((user + system) / 1000);
  }
  return { wallMs: median(wall), cpuMs: median(cpu) };
}

/** Milliseconds of a function that waits for the kernel. */
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
