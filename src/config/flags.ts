// The command line in; every flag's value, which of them were given, and the other arguments out; or what is wrong with it.
import { ALIASES, FLAG_NAMES, FLAGS, type FlagName, type FlagType, type FlagValues, specOf } from './flag-table.ts';
import { flagText, parseFlagValue } from './flag-value.ts';

export interface CommandLine {
  readonly values: FlagValues;
  readonly given: ReadonlySet<FlagName>;
  readonly positional: readonly string[];
  readonly wantsHelp: boolean;
  /** Lines for standard error: use of deprecated flags. */
  readonly warnings: readonly string[];
}

export type CommandLineResult = CommandLine | { readonly problem: string };

/** Flags that may stand alone, and what that means. */
const ALONE: Partial<Record<FlagType, string>> = { bool: 'true', version: 'true' };

const SHORTHANDS: ReadonlyMap<string, FlagName> = new Map(
  FLAG_NAMES.flatMap((name) => {
    const { shorthand } = specOf(name);
    return shorthand === undefined ? [] : [[shorthand, name] as const];
  }),
);

export function parseCommandLine(args: readonly string[]): CommandLineResult {
  const state = new State();
  const rest = [...args];
  let problem: string | undefined;
  while (rest.length > 0 && problem === undefined) {
    const arg = rest.shift()!;
    if (arg === '--') state.positional.push(...rest.splice(0));
    else if (arg.startsWith('--')) problem = parseLong(arg.slice(2), rest, state);
    else if (arg.startsWith('-') && arg.length > 1) problem = parseShort(arg.slice(1), rest, state);
    else state.positional.push(arg);
  }
  return problem === undefined ? state.finished() : { problem };
}

/** Every flag with its value as text, in alphabetical order. */
export function flagTexts(values: FlagValues): ReadonlyMap<string, string> {
  const texts = FLAG_NAMES.map((name) => [name as string, flagText(specOf(name).type, values[name])] as const);
  return new Map([...texts, ['help', 'false'] as const].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** `name=value`, `name value`, or `name` alone. */
function parseLong(text: string, rest: string[], state: State): string | undefined {
  const equals = text.indexOf('=');
  const written = equals < 0 ? text : text.slice(0, equals);
  if (written === '' || written.startsWith('-')) return `bad flag syntax: --${text}`;
  const name = written.replaceAll('_', '-');
  if (name === 'help') return state.setHelp(equals < 0 ? 'true' : text.slice(equals + 1), '--help');
  const known = knownFlag(name);
  if (known === undefined) return `unknown flag: --${written}`;
  const alone = ALONE[specOf(known).type];
  if (equals >= 0) return state.set(known, text.slice(equals + 1));
  if (alone !== undefined) return state.set(known, alone);
  const next = rest.shift();
  return next === undefined ? `flag needs an argument: --${written}` : state.set(known, next);
}

/** `v2`, `v=2`, `v 2`; `h` may stand in front of others. */
function parseShort(text: string, rest: string[], state: State): string | undefined {
  let letters = text;
  while (letters !== '') {
    const letter = letters[0]!;
    const after = letters.slice(1);
    if (letter === 'h') {
      if (after.startsWith('=')) return state.setHelp(after.slice(1), '-h, --help');
      state.setHelp('true', '-h, --help');
      letters = after;
      continue;
    }
    const name = SHORTHANDS.get(letter);
    if (name === undefined) return `unknown shorthand flag: '${letter}' in -${text}`;
    if (after !== '') return state.set(name, after.startsWith('=') ? after.slice(1) : after);
    const next = rest.shift();
    return next === undefined ? `flag needs an argument: '${letter}' in -${text}` : state.set(name, next);
  }
  return undefined;
}

function knownFlag(name: string): FlagName | undefined {
  if (Object.hasOwn(FLAGS, name)) return name as FlagName;
  return Object.hasOwn(ALIASES, name) ? ALIASES[name] : undefined;
}

/** What has been read of the command line so far. */
class State {
  readonly values: Record<string, unknown> = Object.fromEntries(FLAG_NAMES.map((name) => [name, specOf(name).default]));
  readonly given = new Set<FlagName>();
  readonly positional: string[] = [];
  readonly warnings: string[] = [];
  wantsHelp = false;

  /** Returns what is wrong with the value, if anything. */
  set(name: FlagName, text: string): string | undefined {
    const spec = specOf(name);
    const parsed = parseFlagValue(spec.type, text, this.values[name], this.given.has(name));
    if ('problem' in parsed) {
      const shown = spec.shorthand === undefined ? `--${name}` : `-${spec.shorthand}, --${name}`;
      return `invalid argument ${JSON.stringify(text)} for "${shown}" flag: ${parsed.problem}`;
    }
    this.values[name] = parsed.value;
    this.given.add(name);
    if (spec.deprecated !== undefined) this.warnings.push(`Flag --${name} has been deprecated, ${spec.deprecated}`);
    return undefined;
  }

  setHelp(text: string, shown: string): string | undefined {
    const parsed = parseFlagValue('bool', text, false, false);
    if ('problem' in parsed) return `invalid argument ${JSON.stringify(text)} for "${shown}" flag: ${parsed.problem}`;
    this.wantsHelp = parsed.value === true;
    return undefined;
  }

  finished(): CommandLine {
    const { given, positional, warnings, wantsHelp } = this;
    return { values: this.values as FlagValues, given, positional, warnings, wantsHelp };
  }
}
