// The agent as a program in a host of a test network, watching an API server of the test process.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { kubeconfigText } from '../../src/lab/apiserver/kubeconfig.ts';
import type { ApiServer } from '../../src/lab/apiserver/server.ts';
import type { HostProcess, Network } from '../../src/lab/network/network.ts';
import { GOLDEN_CONFIG } from './golden.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

export interface AgentOptions {
  readonly host?: string;
  /** The program, where it is not the source itself. */
  readonly main?: string;
  /** Laid over GOLDEN_CONFIG, section by section. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly args?: readonly string[];
  /** Put in front of the command: `setpriv …`. */
  readonly wrapper?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Who the agent is to the API server, and how it knows that server. */
  readonly credentials?: { readonly token: string; readonly certificateAuthority: string };
}

export class TestAgent {
  readonly process: HostProcess;
  readonly #folder: string;
  #log = '';

  static async start(network: Network, server: ApiServer, options: AgentOptions = {}): Promise<TestAgent> {
    const host = options.host ?? 'n1';
    const folder = mkdtempSync(join(tmpdir(), 'portolan-agent-'));
    const port = await network.forward(host, 0, server.port);
    const kubeconfig = join(folder, 'kubeconfig');
    const url = `${options.credentials ? 'https' : 'http'}://127.0.0.1:${port}`;
    writeFileSync(kubeconfig, kubeconfigText({ url, ...options.credentials }));
    const config = merged(GOLDEN_CONFIG, { ...options.config, clientConnection: { kubeconfig } });
    writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
    const argv = [
      ...(options.wrapper ?? []),
      process.execPath,
      '--disable-warning=ExperimentalWarning',
      options.main ?? MAIN,
      ...['--config', join(folder, 'config.json'), '-v', '2'],
      ...(options.args ?? []),
    ];
    const env = { ...process.env, PORTOLAN_PROGRAM: 'kube-proxy', ...options.env };
    const started = await network.spawnIn(host, argv, { env });
    return new TestAgent(started, folder);
  }

  private constructor(started: HostProcess, folder: string) {
    this.process = started;
    this.#folder = folder;
    for (const stream of [started.stdout, started.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        this.#log += chunk.toString();
      });
    }
  }

  get configFile(): string {
    return join(this.#folder, 'config.json');
  }

  get log(): string {
    return this.#log;
  }

  /** Resolves when the log has said something like this since `from` (a length of the log); fails with the log otherwise. */
  async said(pattern: RegExp, from = 0, timeoutMs = 60_000): Promise<void> {
    await until(
      () => pattern.test(this.#log.slice(from)),
      timeoutMs,
      () => `the agent never said ${pattern}:\n${this.#log.slice(from)}`,
    );
  }

  /** Resolves when the agent has synced at least once and has then had nothing to say for a while. */
  async settled(quietMs = 400): Promise<void> {
    await this.said(/"Synced" ipFamily="IPv6"/);
    for (let before = -1; before !== this.#log.length; ) {
      before = this.#log.length;
      await new Promise((resolve) => setTimeout(resolve, quietMs));
    }
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    await this.process.kill(signal);
    const { status } = await this.process.exited;
    rmSync(this.#folder, { recursive: true, force: true });
    return status;
  }
}

/** Asks again and again until it holds. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  timeoutMs: number,
  complaint: () => string,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(complaint());
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function merged(
  base: Readonly<Record<string, unknown>>,
  over: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const sections = Object.entries(over).map(([key, value]) => [
    key,
    isObject(value) && isObject(base[key]) ? { ...base[key], ...value } : value,
  ]);
  return { ...base, ...Object.fromEntries(sections) };
}
