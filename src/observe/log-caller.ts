// Which source line wrote a log record. Costs some microseconds, so it is asked only for records that are written, or
// while `--vmodule` is in use.

/** A place in the source: `server.ts`, 123, and the whole path for patterns with a slash. */
export interface Caller {
  readonly path: string;
  readonly file: string;
  readonly line: string;
}

const NOWHERE: Caller = { path: '', file: 'unknown', line: '0' };

/** The caller of the function `above`. */
export function callerOf(above: (...args: never[]) => unknown): Caller {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 1;
  const holder: { stack?: string } = {};
  Error.captureStackTrace(holder, above);
  Error.stackTraceLimit = limit;
  return parseFrame(holder.stack ?? '');
}

/** `    at sync (file:///opt/src/pipeline.ts:31:9)` */
export function parseFrame(stack: string): Caller {
  const match = /\(?((?:file:\/\/)?[^()\s]+):(\d+):\d+\)?$/.exec(stack.trimEnd());
  if (!match) return NOWHERE;
  const path = match[1]!.replace(/^file:\/\//, '');
  return { path, file: path.slice(path.lastIndexOf('/') + 1), line: match[2]! };
}

/** Does a `--vmodule` pattern mean this file? Without a slash it is compared with the name without its ending. `*` and `?` are wild. */
export function matchesFile(pattern: string, caller: Caller): boolean {
  const path = caller.path.replace(/\.\w+$/, '');
  if (pattern.includes('/')) return globExpression(pattern, '[^/]').test(path);
  return globExpression(pattern, '.').test(path.slice(path.lastIndexOf('/') + 1));
}

function globExpression(pattern: string, any: string): RegExp {
  const body = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', `${any}*`)
    .replaceAll('?', any);
  return new RegExp(`^${body}$`);
}
