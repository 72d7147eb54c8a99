// How a fault in the configuration is told: `<path>: <type>: <value>: <detail>`, several in one bracket, each once.
import { type Duration, formatDuration } from '../lib/duration.ts';

export type ProblemType = 'Invalid value' | 'Unsupported value' | 'Forbidden' | 'Required value';

type Shown = string | number | readonly string[] | Duration;

export function invalid(path: string, value: Shown, detail: string, type: ProblemType = 'Invalid value'): string {
  return `${path}: ${type}: ${shown(value)}: ${detail}`;
}

/** A fault whose value does not matter. */
export function refused(path: string, type: 'Forbidden' | 'Required value', detail: string): string {
  return `${path}: ${type}: ${detail}`;
}

/** One problem as it is, several in brackets, repetitions left out. */
export function aggregated(problems: readonly string[]): string {
  const distinct = [...new Set(problems)];
  return distinct.length === 1 ? distinct[0]! : `[${distinct.join(', ')}]`;
}

function shown(value: Shown): string {
  return typeof value === 'bigint' ? JSON.stringify(formatDuration(value)) : JSON.stringify(value);
}
