// One log record in, one line out: the text and JSON shapes that log collectors of Kubernetes components already parse.
// Always a single line: line breaks inside values are escaped, so that a record stays one record for grep and for shippers.

export type Severity = 'info' | 'warning' | 'error' | 'fatal';

export type LogValues = Readonly<Record<string, unknown>>;

export interface LogEntry {
  readonly severity: Severity;
  readonly message: string;
  readonly values?: LogValues;
  /** Verbosity from which an info record is shown. */
  readonly level?: number;
  readonly error?: unknown;
  /** True: the message is printed as it is, without quotes. */
  readonly isPlain?: boolean;
}

/** What the logger adds to a record. */
export interface LogContext {
  /** Milliseconds since 1970, with fractions. */
  readonly time: number;
  readonly pid: number;
  /** `server.ts:123` */
  readonly caller: string;
}

const LETTERS: Readonly<Record<Severity, string>> = { info: 'I', warning: 'W', error: 'E', fatal: 'F' };

/** `I0302 09:14:31.401873       1 server.ts:123] "Message" key="value" num=3` */
export function textLine(entry: LogEntry, { time, pid, caller }: LogContext): string {
  const head = `${LETTERS[entry.severity]}${textTime(time)} ${String(pid).padStart(7)} ${caller}]`;
  const message = entry.isPlain ? entry.message : quoted(entry.message);
  return `${head} ${message}${pairs(entry)}\n`;
}

/** `{"ts":1772442871401.873,"caller":"server.ts:123","msg":"Message","v":0,"key":"value"}` */
export function jsonLine(entry: LogEntry, { time, caller }: LogContext): string {
  const record: Record<string, unknown> = { ts: Math.round(time * 1000) / 1000, caller, msg: entry.message };
  if (entry.error !== undefined) record.err = errorText(entry.error);
  else if (entry.severity === 'info') record.v = entry.level ?? 0;
  for (const [key, value] of Object.entries(entry.values ?? {})) record[key] = jsonValue(value);
  return `${JSON.stringify(record)}\n`;
}

function pairs(entry: LogEntry): string {
  let text = entry.error === undefined ? '' : ` err=${quoted(errorText(entry.error))}`;
  for (const [key, value] of Object.entries(entry.values ?? {})) text += ` ${keyText(key)}=${textValue(value)}`;
  return text;
}

function keyText(key: string): string {
  return /^[\w./-]+$/.test(key) ? key : quoted(key);
}

function textValue(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (value === undefined || value === null) return '<nil>';
  const plain = jsonValue(value);
  return JSON.stringify(plain) ?? quoted(String(value));
}

/** What JSON cannot hold by itself becomes text; sets and maps become what they contain. */
function jsonValue(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Error) return value.message;
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, item]) => [String(key), jsonValue(item)]));
  if (value instanceof Set) return [...value].map(jsonValue);
  if (Array.isArray(value)) return value.map(jsonValue);
  if (typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, jsonValue(item)]));
  }
  return value;
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

/** `0302 09:14:31.401873`, in the local time zone like the tools beside us on the node. */
function textTime(time: number): string {
  const date = new Date(time);
  const day = `${two(date.getMonth() + 1)}${two(date.getDate())}`;
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  const microseconds = Math.floor((((time % 1000) + 1000) % 1000) * 1000);
  return `${day} ${clock}.${String(microseconds).padStart(6, '0')}`;
}

function two(number: number): string {
  return number < 10 ? `0${number}` : String(number);
}
