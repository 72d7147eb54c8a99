// The iptables programs of one family: which variant and version the host has, and the few calls Portolan makes of them.
// Calls of one family never overlap.
import { assertNever } from '../lib/assert.ts';
import type { Family } from '../lib/ip.ts';
import { isAtLeast } from '../lib/version.ts';
import { KernelError } from './error.ts';
import { type ProcessResult, type RunProcess, runProcess } from './process.ts';
import { xtablesLockHolder } from './xtables-lock.ts';

/** `auto`: whatever `iptables` is on this host. */
export type IptablesVariant = 'auto' | 'nft' | 'legacy';

export interface IptablesVersion {
  /** `1.8.9`, or '' if it could not be told. */
  readonly version: string;
  /** The kernel interface behind it. Before 1.8 there was only one, unnamed. */
  readonly backend: 'nf_tables' | 'legacy';
  readonly hasRandomFully: boolean;
}

const LOCK_WAIT_SECONDS = 5;
const EXIT_RESOURCE_PROBLEM = 4; // the xtables lock was not to be had, or the kernel had no memory

export class Iptables {
  readonly family: Family;
  readonly variant: IptablesVariant;
  readonly #name: string;
  readonly #runProcess: RunProcess;
  #queue: Promise<unknown> = Promise.resolve();
  #version: IptablesVersion | undefined;

  /** `run`: how programs are started, where it is not in this process's own network namespace. */
  constructor(family: Family, variant: IptablesVariant = 'auto', run: RunProcess = runProcess) {
    this.family = family;
    this.variant = variant;
    this.#runProcess = run;
    this.#name = programName(family, variant);
  }

  /** `iptables`, `ip6tables-nft`, … */
  get name(): string {
    return this.#name;
  }

  /** Asked once, then remembered. */
  async version(): Promise<IptablesVersion> {
    this.#version ??= parseVersion((await this.#run(this.#name, ['--version'])).stdout);
    return this.#version;
  }

  /** Why this family cannot be used on this host, or undefined if it can. */
  async unusableBecause(): Promise<string | undefined> {
    try {
      const { status, stderr } = await this.#run(this.#name, [
        ...(await this.#wait()),
        '-S',
        'POSTROUTING',
        '-t',
        'nat',
      ]);
      return status === 0 ? undefined : stderr.trim();
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  async hasChain(table: string, chain: string): Promise<'yes' | 'no' | 'unknown'> {
    const { status } = await this.#run(this.#name, [...(await this.#wait()), '-S', chain, '-t', table]);
    if (status === 0) return 'yes';
    return status === EXIT_RESOURCE_PROBLEM ? 'unknown' : 'no';
  }

  /** The text of iptables-save, of one table or of all that exist. */
  async save(table?: string, withCounters = false): Promise<string> {
    const args = [...(withCounters ? ['-c'] : []), ...(table ? ['-t', table] : [])];
    const result = await this.#run(`${this.#name}-save`, args);
    if (result.status !== 0) throw this.#failure('save', result);
    return result.stdout;
  }

  /** Loads lines over what is there; each table is committed by itself, and wholly or not at all. */
  async restore(lines: readonly string[]): Promise<void> {
    if (lines.length === 0) return;
    const wait = await this.#restoreWait();
    const ordered = lastChainFirst(lines);
    const load = (): Promise<ProcessResult> =>
      this.#run(`${this.#name}-restore`, [...wait, '--noflush', '--counters'], ordered);
    const result = await (wait.length > 0 ? load() : holdingLocks(load));
    if (result.status !== 0) throw this.#failure('restore', result, ordered);
  }

  async #wait(): Promise<readonly string[]> {
    const { version } = await this.version();
    if (isAtLeast(version, '1.4.22')) return ['-w', String(LOCK_WAIT_SECONDS)];
    return isAtLeast(version, '1.4.20') ? ['-w'] : [];
  }

  async #restoreWait(): Promise<readonly string[]> {
    return isAtLeast((await this.version()).version, '1.6.2') ? ['-w', String(LOCK_WAIT_SECONDS)] : [];
  }

  /** One call after another, also after one that failed. */
  #run(program: string, args: readonly string[], lines?: readonly string[]): Promise<ProcessResult> {
    const run = (): Promise<ProcessResult> =>
      this.#runProcess(program, args, lines ? { input: lines.map((line) => `${line}\n`) } : {});
    const result = this.#queue.then(run, run);
    this.#queue = result.catch(() => undefined);
    return result;
  }

  #failure(call: string, result: ProcessResult, lines?: readonly string[]): KernelError {
    const answer = `${result.stdout}${result.stderr}`.trim();
    if (result.status === EXIT_RESOURCE_PROBLEM && /lock/i.test(answer)) {
      const holder = xtablesLockHolder();
      const detail = `the xtables lock was not free within ${LOCK_WAIT_SECONDS} s${holder ? `; ${holder} holds it` : ''}`;
      return new KernelError('LOCK_TIMEOUT', { operation: `${this.#name} ${call}`, detail });
    }
    const detail = `${answer || 'no message'} (exit code ${result.status})${lines ? surroundings(answer, lines) : ''}`;
    return new KernelError('TOOL_FAILED', { operation: `${this.#name} ${call}`, detail });
  }
}

/** iptables-nft keeps chains in a sorted list and looks for each one's place from the front. Told the last name first, it loads
 *  10,000 services in a tenth of the time; to others the order of these lines means nothing. */
export function lastChainFirst(lines: readonly string[]): readonly string[] {
  const ordered: string[] = [];
  let chains: string[] = [];
  for (const line of lines) {
    if (line.startsWith(':')) chains.push(line);
    else {
      for (const chain of chains.sort().reverse()) ordered.push(chain);
      chains = [];
      ordered.push(line);
    }
  }
  return ordered.concat(chains);
}

export function parseVersion(text: string): IptablesVersion {
  const version = /v([0-9]+(\.[0-9]+)+)/.exec(text)?.[1] ?? '';
  return {
    version,
    backend: text.includes('nf_tables') ? 'nf_tables' : 'legacy',
    hasRandomFully: isAtLeast(version, '1.6.2'),
  };
}

/** Hosts this old are rare, so what it takes to hold a lock is loaded only there. */
async function holdingLocks<T>(work: () => Promise<T>): Promise<T> {
  const { holdingXtablesLocks } = await import('./xtables-hold.ts');
  return holdingXtablesLocks(work);
}

/** The input around the line that was refused, so that the log shows what it was. */
function surroundings(answer: string, lines: readonly string[]): string {
  const line = Number(/line:? (\d+)/i.exec(answer)?.[1] ?? 0);
  if (line === 0) return '';
  const from = Math.max(1, line - 3);
  return `\n${lines
    .slice(from - 1, line + 3)
    .map((text, i) => `${from + i}: ${text}`)
    .join('\n')}`;
}

function programName(family: Family, variant: IptablesVariant): string {
  const base = family === 'IPv4' ? 'iptables' : 'ip6tables';
  switch (variant) {
    case 'auto':
      return base;
    case 'nft':
    case 'legacy':
      return `${base}-${variant}`;
    default:
      return assertNever(variant);
  }
}
