// A lab of a test: started by the command line, as ourselves or as an ordinary user, in a folder of its own, so that any
// number can run beside each other and beside a person's own.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { asOrdinaryUser, asOurselves } from './network-as-user.ts';
import { lastingProcesses, MARK } from './network-traces.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const READY = /Ready after [\d.]+ s/;

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class TestLab {
  /** Every process of the lab has it in its environment. */
  readonly mark = randomUUID();
  readonly #command: readonly [string, ...string[]];
  #folder: string | undefined;
  #up: ChildProcess | undefined;
  #said = '';

  /** Undefined where an ordinary user may not read this folder. */
  static asOrdinaryUser(): TestLab | undefined {
    const command = asOrdinaryUser(MAIN);
    return command && new TestLab(command);
  }

  constructor(command: readonly [string, ...string[]] = asOurselves(MAIN)) {
    this.#command = command;
  }

  /** Made when it is first needed: a test that is filtered out has none to remove. */
  get folder(): string {
    if (this.#folder === undefined) {
      this.#folder = mkdtempSync(join(tmpdir(), 'portolan-lab-test-'));
      chmodSync(this.#folder, 0o777); // for whoever runs it
    }
    return this.#folder;
  }

  /** Resolves when the lab says it is ready. */
  async up(...args: readonly string[]): Promise<this> {
    const [program, ...rest] = this.#command;
    const up = spawn(program, [...rest, 'lab', 'up', ...args], {
      env: this.#env(),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.#up = up;
    this.#said = '';
    await new Promise<void>((resolve, reject) => {
      const hear = (data: Buffer) => {
        this.#said += data.toString();
        if (READY.test(this.#said)) resolve();
      };
      up.stdout?.on('data', hear);
      up.stderr?.on('data', hear);
      up.on('exit', () => reject(new Error(`the lab ended:\n${this.#said}`)));
    });
    return this;
  }

  /** What `lab up` has printed. */
  get said(): string {
    return this.#said;
  }

  /** Runs `portolan lab …`. */
  async run(...args: readonly string[]): Promise<Ran> {
    return this.#run(args, '');
  }

  /** As `run`, and what it printed; fails with what it said if its status is not 0. */
  async ok(...args: readonly string[]): Promise<string> {
    const { status, stdout, stderr } = await this.run(...args);
    assert.equal(status, 0, `lab ${args.join(' ')}:\n${stdout}${stderr}`);
    return stdout;
  }

  async okWith(stdin: string, ...args: readonly string[]): Promise<string> {
    const { status, stdout, stderr } = await this.#run(args, stdin);
    assert.equal(status, 0, `lab ${args.join(' ')}:\n${stdout}${stderr}`);
    return stdout;
  }

  /** Sends a signal to all of `lab up`'s process group, as a terminal does for Ctrl-C; resolves when it has gone. */
  async end(signal: NodeJS.Signals): Promise<void> {
    const up = this.#up;
    if (!up || up.exitCode !== null || up.signalCode !== null) return;
    const exited = new Promise((resolve) => up.once('exit', resolve));
    process.kill(-up.pid!, signal);
    await exited;
  }

  /** Files in its folder, and processes. */
  async leftovers(): Promise<{ readonly files: readonly string[]; readonly processes: readonly number[] }> {
    return { processes: await lastingProcesses(this.mark), files: readdirSync(this.folder) };
  }

  /** For `after`: whatever happened, nothing stays. */
  async remove(): Promise<void> {
    await this.end('SIGINT');
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  }

  #run(args: readonly string[], stdin: string): Promise<Ran> {
    const [program, ...rest] = this.#command;
    return new Promise((resolve, reject) => {
      const child = spawn(program, [...rest, 'lab', ...args], { env: this.#env() });
      let stdout = '';
      let stderr = '';
      child.stdout.on('data', (data: Buffer) => {
        stdout += data.toString();
      });
      child.stderr.on('data', (data: Buffer) => {
        stderr += data.toString();
      });
      child.on('error', reject);
      child.on('close', (status) => resolve({ status, stdout, stderr }));
      child.stdin.end(stdin);
    });
  }

  #env(): NodeJS.ProcessEnv {
    const { KUBECONFIG: _notOurs, ...env } = process.env;
    return { ...env, XDG_RUNTIME_DIR: this.folder, HOME: this.folder, [MARK]: this.mark };
  }
}
