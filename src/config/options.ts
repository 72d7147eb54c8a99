// From the command line to what is to be done. In: arguments, and a way to read a file. Out: the action with its complete,
// checked configuration, or the error in the words and on the stream where operators look for it. Nothing is printed or
// logged here: lines for the log wait in `notes` until the log is set up by the settings found here.

import type { LogSettings } from '../observe/log.ts';
import { DEFAULT_LOG_SETTINGS } from '../observe/log.ts';
import { errorText, type LogEntry } from '../observe/log-format.ts';
import { flagsOverruledByFile, withAllFlags, withLoggingFlags, withPortolanFlags } from './apply-flags.ts';
import { type LoggingConfiguration, type ProxyConfiguration, type Settings, USERSPACE_GATE } from './configuration.ts';
import { decodeDocument } from './decode.ts';
import { settingsOf, withPlatformDefaults } from './defaults.ts';
import type { Document } from './document.ts';
import { type FeatureGate, isGateEnabled, resolveGates } from './feature-gates.ts';
import { type CommandLine, flagTexts, parseCommandLine } from './flags.ts';
import { aggregated } from './problems.ts';
import { usage } from './usage.ts';
import { problemsOf } from './validate.ts';
import { loggingProblems } from './validate-logging.ts';
import { KUBERNETES_VERSION, reportedVersionProblem, versionText } from './version.ts';

export type Invocation =
  /** Print `text` on standard output, exit 0. */
  | { readonly action: 'help' | 'version'; readonly text: string }
  /** Print `text` on standard error, exit 1. */
  | { readonly action: 'refuse'; readonly text: string }
  /** Write the notes, then log the error "command failed"; exit 1. */
  | { readonly action: 'fail'; readonly error: string; readonly start: Start }
  /** Write the notes, then do what `action` says. */
  | ({ readonly action: 'write-config' | 'cleanup' | 'init-only' | 'run'; readonly start: Start } & Ready);

/** What is known before anything can fail. */
export interface Start {
  readonly logSettings: LogSettings;
  readonly notes: readonly LogEntry[];
  /** Lines for standard error. */
  readonly warnings: readonly string[];
}

export interface Ready {
  readonly configuration: ProxyConfiguration;
  readonly gates: readonly FeatureGate[];
  /** URL of the API server, '' : as in the kubeconfig. */
  readonly master: string;
  /** The file that was read; to be watched. */
  readonly configFile: ConfigFile | undefined;
  /** '' : none. */
  readonly writeConfigTo: string;
  /** Every flag and its value, for /flagz. */
  readonly flags: ReadonlyMap<string, string>;
  /** The version to report. */
  readonly version: string;
}

export interface ConfigFile {
  readonly path: string;
  readonly text: string;
}

/** Throws the file system's error. */
export type ReadFile = (path: string) => string;

export function complete(args: readonly string[], readFile: ReadFile): Invocation {
  const line = parseCommandLine(args);
  if ('problem' in line) return { action: 'refuse', text: `${usage()}\nError: ${line.problem}\n` };
  if (line.wantsHelp) return { action: 'help', text: usage() };
  const extra = line.positional.filter((argument) => argument !== '');
  if (extra.length > 0) {
    const got = `[${line.positional.map((argument) => JSON.stringify(argument)).join(' ')}]`;
    return { action: 'refuse', text: `Error: "kube-proxy" does not take any arguments, got ${got}\n` };
  }
  return completeVersion(line, readFile);
}

function completeVersion(line: CommandLine, readFile: ReadFile): Invocation {
  const { version } = line.values;
  if (version === 'true' || version === 'raw') {
    return { action: 'version', text: versionText(KUBERNETES_VERSION, version === 'raw') };
  }
  if (version === 'false') return completeSettings(line, readFile, KUBERNETES_VERSION);
  const problem = reportedVersionProblem(version);
  if (problem === undefined) return completeSettings(line, readFile, version);
  return {
    action: 'refuse',
    text: `${usage()}\nError: invalid argument "${version}" for "--version" flag: ${problem}\n`,
  };
}

function completeSettings(line: CommandLine, readFile: ReadFile, version: string): Invocation {
  const notes: LogEntry[] = [];
  const fail = (error: string, logging?: LoggingConfiguration): Invocation => ({
    action: 'fail',
    error,
    start: startOf(line, notes, logging),
  });

  const loaded = load(line, readFile);
  if ('problem' in loaded) return fail(`failed complete: ${loaded.problem}`);
  notes.push(...loaded.notes);
  const named = withHostname(loaded.settings, line.values['hostname-override']);
  if (named === undefined) return fail('failed complete: empty hostname-override is invalid');
  const settings = withPortolanFlags(named, line);

  const gated = resolveGates(settings.featureGates);
  if ('problems' in gated) return fail(`failed complete: ${aggregated(gated.problems)}`);
  notes.push(...gated.notes);

  const logFaults = loggingProblems(settings.logging, (gate) => isGateEnabled(gated.gates, gate));
  if (logFaults.length > 0) return fail(`initialize logging: ${aggregated(logFaults)}`);

  const flags = flagTexts(line.values);
  for (const [name, value] of flags) {
    notes.push({ severity: 'info', message: `FLAG: --${name}=${JSON.stringify(value)}`, level: 1, isPlain: true });
  }
  const faults = problemsOf(settings);
  if (faults.length > 0) {
    if (settings.mode === 'userspace') notes.push(userspaceHint());
    return fail(`failed validate: ${aggregated(faults)}`, settings.logging);
  }

  return {
    action: actionOf(line),
    start: startOf(line, notes, settings.logging),
    configuration: settings as ProxyConfiguration, // problemsOf has checked the choices
    gates: gated.gates,
    master: line.values.master,
    configFile: loaded.configFile,
    writeConfigTo: line.values['write-config-to'],
    flags,
    version,
  };
}

interface Loaded {
  readonly settings: Settings;
  readonly notes: readonly LogEntry[];
  readonly configFile: ConfigFile | undefined;
}

function load(line: CommandLine, readFile: ReadFile): Loaded | { readonly problem: string } {
  const path = line.values.config;
  const read = path === '' ? undefined : readDocument(path, readFile);
  if (read && 'problem' in read) return read;

  const base = settingsOf(read?.document ?? {});
  const flagged = read ? base : withAllFlags(base, line);
  const blank = { ...flagged, logging: withLoggingFlags(base.logging, line) };
  const notes: LogEntry[] = [];
  if (read?.strictProblem !== undefined) {
    const message = 'Using lenient decoding as strict decoding failed';
    notes.push({ severity: 'info', message, values: { err: read.strictProblem } });
  }
  const overruled = read ? flagsOverruledByFile(line) : [];
  if (overruled.length > 0) {
    const message = 'Flags without effect, because the configuration file decides';
    notes.push({ severity: 'warning', message, values: { flags: overruled.map((name) => `--${name}`), config: path } });
  }
  if (blank.mode === '') notes.push({ severity: 'info', message: 'Using iptables proxy' });
  return { settings: withPlatformDefaults(blank), notes, configFile: read && { path, text: read.text } };
}

type ReadDocument = { readonly document: Document; readonly strictProblem: string | undefined; readonly text: string };

function readDocument(path: string, readFile: ReadFile): ReadDocument | { readonly problem: string } {
  let text: string;
  try {
    text = readFile(path);
  } catch (error) {
    return { problem: fileProblem(path, error) };
  }
  const decoded = decodeDocument(text);
  if ('problem' in decoded) return { problem: `failed to decode: ${decoded.problem}` };
  return { ...decoded, text };
}

/** In the words operators know: `open <path>: no such file or directory`. */
export function fileProblem(path: string, error: unknown): string {
  const { code } = error as { code?: unknown };
  if (code === 'ENOENT') return `open ${path}: no such file or directory`;
  if (code === 'EACCES') return `open ${path}: permission denied`;
  if (code === 'EISDIR') return `read ${path}: is a directory`;
  return `open ${path}: ${errorText(error)}`;
}

/** undefined: the name given is blank. */
function withHostname(settings: Settings, override: string): Settings | undefined {
  if (override === '') return settings;
  const hostnameOverride = override.trim().toLowerCase();
  return hostnameOverride === '' ? undefined : { ...settings, hostnameOverride };
}

function actionOf({ values }: CommandLine): 'write-config' | 'cleanup' | 'init-only' | 'run' {
  if (values['write-config-to'] !== '') return 'write-config';
  if (values.cleanup) return 'cleanup';
  return values['init-only'] ? 'init-only' : 'run';
}

function userspaceHint(): LogEntry {
  const message = 'Portolan has a userspace mode; it is chosen together with its feature gate';
  return { severity: 'warning', message, values: { featureGate: USERSPACE_GATE } };
}

/** As long as the logging settings are unknown or refused, the log has its defaults. */
function startOf(line: CommandLine, notes: readonly LogEntry[], logging?: LoggingConfiguration): Start {
  return { logSettings: logging ? logSettingsOf(logging) : DEFAULT_LOG_SETTINGS, notes, warnings: line.warnings };
}

function logSettingsOf({ format, verbosity, vmodule, options }: LoggingConfiguration): LogSettings {
  const known = format === 'json' ? 'json' : 'text';
  return { format: known, verbosity, vmodule, splitStream: options[known].splitStream };
}
