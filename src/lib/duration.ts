// Durations as flags and configuration files write them (`300ms`, `1m30s`). In: text. Out: nanoseconds as a bigint, the
// whole 64-bit range exact. A bigint also cannot be handed to setTimeout by mistake: a caller has to name the unit it wants.

/** Nanoseconds. */
export type Duration = bigint;

export const MICROSECOND = 1_000n;
export const MILLISECOND = 1_000_000n;
export const SECOND = 1_000_000_000n;
export const MINUTE = 60n * SECOND;
export const HOUR = 60n * MINUTE;

const MAX_DURATION = (1n << 63n) - 1n;

const UNITS: ReadonlyMap<string, Duration> = new Map([
  ['ns', 1n],
  ['us', MICROSECOND],
  ['\u00b5s', MICROSECOND], // the micro sign
  ['\u03bcs', MICROSECOND], // the Greek letter mu, which looks the same
  ['ms', MILLISECOND],
  ['s', SECOND],
  ['m', MINUTE],
  ['h', HOUR],
]);

export type ParsedDuration = { readonly duration: Duration } | { readonly problem: string };

/** Reads a sequence of decimal numbers with units, with an optional sign; `0` needs no unit. */
export function parseDuration(text: string): ParsedDuration {
  const isNegative = text.startsWith('-');
  let rest = /^[-+]/.test(text) ? text.slice(1) : text;
  if (rest === '0') return { duration: 0n };
  if (rest === '') return { problem: `time: invalid duration ${quote(text)}` };

  let total = 0n;
  while (rest !== '') {
    const part = /^(\d*)(?:\.(\d*))?([^\d.]*)/.exec(rest)!;
    const [all, whole = '', fraction = '', unitName = ''] = part;
    if (whole === '' && fraction === '') return { problem: `time: invalid duration ${quote(text)}` };
    if (unitName === '') return { problem: `time: missing unit in duration ${quote(text)}` };
    const unit = UNITS.get(unitName);
    if (unit === undefined) return { problem: `time: unknown unit ${quote(unitName)} in duration ${quote(text)}` };
    total += BigInt(whole || '0') * unit + fractionOf(fraction, unit);
    rest = rest.slice(all.length);
  }
  // One more value exists below zero than above it.
  if (total > MAX_DURATION + (isNegative ? 1n : 0n)) return { problem: `time: invalid duration ${quote(text)}` };
  return { duration: isNegative ? -total : total };
}

/** Hours, minutes and seconds from a second up (`1h0m0s`); below it one unit (`1.5ms`); zero is `0s`. */
export function formatDuration(duration: Duration): string {
  if (duration < 0n) return `-${formatDuration(-duration)}`;
  if (duration === 0n) return '0s';
  if (duration < MICROSECOND) return `${duration}ns`;
  if (duration < MILLISECOND) return `${decimal(duration, MICROSECOND)}\u00b5s`;
  if (duration < SECOND) return `${decimal(duration, MILLISECOND)}ms`;
  const hours = duration / HOUR;
  const minutes = (duration % HOUR) / MINUTE;
  const seconds = `${decimal(duration % MINUTE, SECOND)}s`;
  if (hours > 0n) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0n ? `${minutes}m${seconds}` : seconds;
}

/** For timers. Fractions of a millisecond are kept. */
export function inMilliseconds(duration: Duration): number {
  return Number(duration) / 1e6;
}

/** Whole seconds, truncated: the unit of the kernel's time-outs. */
export function inWholeSeconds(duration: Duration): number {
  return Number(duration / SECOND);
}

/** Digits behind the point, truncated to whole nanoseconds. */
function fractionOf(digits: string, unit: Duration): Duration {
  return digits === '' ? 0n : (BigInt(digits) * unit) / 10n ** BigInt(digits.length);
}

function decimal(duration: Duration, unit: Duration): string {
  const width = unit.toString().length - 1;
  const fraction = (duration % unit).toString().padStart(width, '0').replace(/0+$/, '');
  return fraction === '' ? `${duration / unit}` : `${duration / unit}.${fraction}`;
}

function quote(text: string): string {
  return JSON.stringify(text);
}
