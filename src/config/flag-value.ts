// One flag's text in, its value out, or why it is none; and back to text for the log and /flagz.
import { assertNever } from '../lib/assert.ts';
import { formatDuration, parseDuration } from '../lib/duration.ts';
import { ipFlagProblem, ipPortFlagProblem } from './address.ts';
import type { VModule } from './configuration.ts';
import type { FlagType } from './flag-table.ts';
import { isQuantity, QUANTITY_PROBLEM } from './quantity.ts';

export type Parsed = { readonly value: unknown } | { readonly problem: string };

/** `current` is the value so far, and `isGiven` says if it came from the command line: lists and maps grow by repetition. */
export function parseFlagValue(type: FlagType, text: string, current: unknown, isGiven: boolean): Parsed {
  switch (type) {
    case 'string':
      return { value: text };
    case 'bool':
      return parseBool(text);
    case 'int32':
      return parseInteger(text, -(2 ** 31), 2 ** 31 - 1);
    case 'level':
      return parseInteger(text, 0, 2 ** 31 - 1);
    case 'float32':
      return parseFloat32(text);
    case 'duration': {
      const parsed = parseDuration(text);
      return 'duration' in parsed ? { value: parsed.duration } : parsed;
    }
    case 'strings': {
      const items = splitList(text);
      return 'problem' in items ? items : { value: [...(isGiven ? (current as string[]) : []), ...items.value] };
    }
    case 'ip':
    case 'ip or ip:port': {
      if (text === '') return { value: current }; // an empty address leaves the setting as it was
      const problem = type === 'ip' ? ipFlagProblem(text) : ipPortFlagProblem(text);
      return problem === undefined ? { value: text } : { problem };
    }
    case 'gates':
      return parseGates(text, current as Record<string, boolean>);
    case 'vmodule':
      return parseVModule(text, current as readonly VModule[]);
    case 'quantity':
      return isQuantity(text) ? { value: text } : { problem: QUANTITY_PROBLEM };
    case 'version':
      return parseVersion(text);
    default:
      return assertNever(type);
  }
}

export function flagText(type: FlagType, value: unknown): string {
  if (type === 'duration') return formatDuration(value as bigint);
  if (type === 'strings') return `[${(value as string[]).join(',')}]`;
  if (type === 'vmodule') return (value as VModule[]).map((m) => `${m.filePattern}=${m.verbosity}`).join(',');
  if (type === 'gates') {
    const entries = Object.entries(value as Record<string, boolean>).map(([name, isOn]) => `${name}=${isOn}`);
    return entries.sort().join(',');
  }
  return String(value);
}

function parseBool(text: string): Parsed {
  if (/^(1|t|T|true|TRUE|True)$/.test(text)) return { value: true };
  if (/^(0|f|F|false|FALSE|False)$/.test(text)) return { value: false };
  return { problem: `strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax` };
}

/** Decimal, or with a prefix: 0x, 0o, 0b, or 0 for octal. */
function parseInteger(text: string, low: number, high: number): Parsed {
  const refuse = (reason: string) => ({ problem: `strconv.ParseInt: parsing ${JSON.stringify(text)}: ${reason}` });
  const match = /^([-+]?)(0x[\da-f]+|0b[01]+|0o?[0-7]+|0|[1-9]\d*)$/i.exec(text);
  if (!match) return refuse('invalid syntax');
  const digits = match[2]!.replace(/^0o?(?=[0-7])/i, '0o');
  const value = Number(digits) * (match[1] === '-' ? -1 : 1);
  return value < low || value > high ? refuse('value out of range') : { value: value || 0 }; // -0 is 0
}

function parseFloat32(text: string): Parsed {
  const isNumber = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text);
  if (!isNumber) return { problem: `strconv.ParseFloat: parsing ${JSON.stringify(text)}: invalid syntax` };
  return { value: Math.fround(Number(text)) };
}

/** Comma-separated, with double quotes around items that contain a comma. */
function splitList(text: string): { value: string[] } | { problem: string } {
  if (text === '') return { value: [] };
  const items: string[] = [];
  const item = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y;
  for (;;) {
    const start = item.lastIndex;
    const match = item.exec(text);
    if (!match) return { problem: `parse error on line 1, column ${start + 1}: stray " in a list` };
    items.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '');
    if (match[3] === '') return { value: items };
  }
}

function parseGates(text: string, current: Readonly<Record<string, boolean>>): Parsed {
  const gates = { ...current };
  for (const pair of text.split(',')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    if (equals < 0) return { problem: 'malformed pair, expect string=bool' };
    const name = pair.slice(0, equals).trim();
    const word = pair.slice(equals + 1).trim();
    const parsed = parseBool(word);
    if ('problem' in parsed) return { problem: `invalid value of ${name}: ${word}, err: ${parsed.problem}` };
    gates[name] = parsed.value === true;
  }
  return { value: gates };
}

function parseVModule(text: string, current: readonly VModule[]): Parsed {
  const modules = [...current];
  for (const pair of text.split(',')) {
    if (pair === '') continue;
    const match = /^([^=]+)=([^=]+)$/.exec(pair);
    if (!match) return { problem: `${JSON.stringify(pair)} does not have the pattern=N format` };
    const level = parseInteger(match[2]!, 0, 2 ** 31 - 1);
    if ('problem' in level) return { problem: `parsing verbosity in ${JSON.stringify(pair)}: ${level.problem}` };
    modules.push({ filePattern: match[1]!, verbosity: level.value as number });
  }
  return { value: modules };
}

function parseVersion(text: string): Parsed {
  if (text === 'raw' || text.startsWith('v')) return { value: text };
  const parsed = parseBool(text);
  return 'problem' in parsed ? parsed : { value: String(parsed.value) };
}
