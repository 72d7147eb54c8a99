// In: kernel settings wanted.  Out: what became of each. A setting that cannot be had costs what its consequence says and
// nothing more: the proxy runs on, and the message tells how to set it from the host.
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { type Clock, systemClock } from '../lib/clock.ts';
import type { Tuning } from '../node/tuning.ts';

export type TuningOutcome =
  | { readonly kind: 'held'; readonly file: string; readonly value: number }
  | { readonly kind: 'written'; readonly file: string; readonly value: number; readonly before: string }
  | TuningFailure;

export interface TuningFailure {
  readonly kind: 'failed';
  readonly file: string;
  readonly value: number;
  /** What the kernel holds instead; undefined if that cannot be read. */
  readonly held: string | undefined;
  /** `EACCES` */
  readonly error: string;
  readonly consequence: string;
}

/** Writes only what differs, so that a process without the right to write starts in silence on a host that is set up. */
export function applyTunings(tunings: readonly Tuning[]): readonly TuningOutcome[] {
  return tunings.map(applyTuning);
}

/** One line for the log: the consequence first, then why, then what to run. */
export function describeTuningFailure({ file, value, held, error, consequence }: TuningFailure): string {
  const now = held === undefined ? 'cannot be read' : `is ${held}`;
  return `${consequence}: ${file} ${now}, wanted is ${value}, and writing it failed (${error}). On the host run: echo ${value} > ${file}`;
}

/** The CPUs of the machine, not those this container may use: the table of connections is the machine's. */
export function machineCpus(): number {
  const online = readIfAny('/sys/devices/system/cpu/online');
  return (online === undefined ? 0 : countRanges(online)) || availableParallelism();
}

/** `0-3,6` is five; 0 if the text is something else. */
export function countRanges(text: string): number {
  let count = 0;
  for (const range of text.split(',')) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(range);
    if (!match) return 0;
    count += Number(match[2] ?? match[1]) - Number(match[1]) + 1;
  }
  return count;
}

/** How readily the kernel ends this process when memory runs out. Undefined if it was set, else why it was not. */
export async function setOomScore(score: number, clock: Clock = systemClock): Promise<string | undefined> {
  const attempt = (): string | undefined => writeOrExplain('/proc/self/oom_score_adj', score);
  if (attempt() === undefined) return undefined;
  await clock.wait(OOM_RETRY_MS);
  return attempt();
}

const OOM_RETRY_MS = 100;

function applyTuning({ files, value, isMinimum, toleratesLarger, consequence }: Tuning): TuningOutcome {
  const file = files.find((candidate) => readIfAny(candidate) !== undefined) ?? files[0]!;
  const held = readIfAny(file);
  const isLarger = held !== undefined && Number(held) > value;
  if (held === String(value) || (isMinimum && isLarger)) return { kind: 'held', file, value };
  const error = writeOrExplain(file, value);
  if (error === undefined) return { kind: 'written', file, value, before: held ?? '' };
  if (toleratesLarger && isLarger) return { kind: 'held', file, value };
  return { kind: 'failed', file, value, held, error, consequence };
}

function readIfAny(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}

function writeOrExplain(file: string, value: number): string | undefined {
  try {
    writeFileSync(file, String(value), { flag: 'r+' }); // a setting that is missing is not to become a file
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}
