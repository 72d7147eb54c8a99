// The log. In: messages with values. Out: lines on standard error (or split over both streams) in text or JSON form.
// A disabled level costs one comparison; guard costly values with `log.isEnabled(level)`.
import { writeSync } from 'node:fs';
import { type Caller, callerOf, matchesFile } from './log-caller.ts';
import { jsonLine, type LogEntry, type LogValues, type Severity, textLine } from './log-format.ts';

export type { LogEntry, LogValues, Severity } from './log-format.ts';

export interface LogSettings {
  readonly format: 'text' | 'json';
  readonly verbosity: number;
  /** The first matching pattern decides; text format only. */
  readonly vmodule: readonly { readonly filePattern: string; readonly verbosity: number }[];
  /** Info records go to standard output, all others to standard error. */
  readonly splitStream: boolean;
}

export const DEFAULT_LOG_SETTINGS: LogSettings = { format: 'text', verbosity: 0, vmodule: [], splitStream: false };

/** Where lines go, and what time it is. */
export interface LogWorld {
  readonly write: (stream: 'stdout' | 'stderr', line: string) => void;
  /** Milliseconds since 1970, with fractions. */
  readonly now: () => number;
  readonly pid: number;
}

export interface Log {
  info(message: string, values?: LogValues, level?: number): void;
  warning(message: string, values?: LogValues): void;
  /** Errors are written at every verbosity. */
  error(error: unknown, message: string, values?: LogValues): void;
  /** A line without quotes around it, for texts that others match on as they are. */
  plain(severity: Severity, text: string, level?: number): void;
  write(entry: LogEntry): void;
  isEnabled(level: number): boolean;
  readonly verbosity: number;
  setVerbosity(verbosity: number): void;
}

export function createLog(settings: LogSettings = DEFAULT_LOG_SETTINGS, world: LogWorld = processWorld()): Log {
  let verbosity = settings.verbosity;
  const formatLine = settings.format === 'json' ? jsonLine : textLine;
  const hasModules = settings.vmodule.length > 0;

  const shows = (level: number, at: () => Caller): boolean => {
    if (level <= verbosity) return true;
    if (!hasModules) return false;
    const caller = at();
    const module = settings.vmodule.find(({ filePattern }) => matchesFile(filePattern, caller));
    return module !== undefined && level <= module.verbosity;
  };
  const emit = (entry: LogEntry, { file, line }: Caller): void => {
    const context = { time: world.now(), pid: world.pid, caller: `${file}:${line}` };
    const stream = settings.splitStream && entry.severity === 'info' ? 'stdout' : 'stderr';
    world.write(stream, formatLine(entry, context));
  };

  const log: Log = {
    info(message, values, level = 0) {
      if (level > verbosity && !hasModules) return;
      const at = () => callerOf(log.info);
      if (shows(level, at)) emit({ severity: 'info', message, level, ...(values && { values }) }, at());
    },
    warning(message, values) {
      emit({ severity: 'warning', message, ...(values && { values }) }, callerOf(log.warning));
    },
    error(error, message, values) {
      emit({ severity: 'error', error, message, ...(values && { values }) }, callerOf(log.error));
    },
    plain(severity, text, level = 0) {
      const at = () => callerOf(log.plain);
      if (severity !== 'info' || shows(level, at)) emit({ severity, message: text, level, isPlain: true }, at());
    },
    write(entry) {
      const at = () => callerOf(log.write);
      if (entry.severity !== 'info' || shows(entry.level ?? 0, at)) emit(entry, at());
    },
    isEnabled(level) {
      return shows(level, () => callerOf(log.isEnabled));
    },
    get verbosity() {
      return verbosity;
    },
    setVerbosity(wanted) {
      verbosity = wanted;
    },
  };
  return log;
}

/** The process's own streams and clock. */
export function processWorld(): LogWorld {
  return { write: writeToProcess, now: microsecondClock(), pid: process.pid };
}

function writeToProcess(stream: 'stdout' | 'stderr', line: string): void {
  try {
    writeSync(stream === 'stdout' ? 1 : 2, line);
  } catch {
    // Nobody reads the log any more (a closed or full pipe). Services are still to be kept working, so the line is lost.
  }
}

/** The wall clock with a fraction: the monotonic clock gives the digits that Date lacks, and is set anew when the two
 *  have drifted apart, as they do when the machine's time is changed. */
function microsecondClock(): () => number {
  let offset = Date.now() - performance.now();
  return () => {
    const drift = Date.now() - (performance.now() + offset);
    if (Math.abs(drift) > 1) offset += drift;
    return performance.now() + offset;
  };
}
