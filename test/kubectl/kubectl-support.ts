// Real kubectl against the embedded server: which ones this machine has, and a home of its own for each run.
import { type ExecFileException, execFile, spawn } from 'node:child_process';
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { kubeconfigText } from '../../src/lab/apiserver/kubeconfig.ts';
import { type ApiServer, startApiServer } from '../../src/lab/apiserver/server.ts';
import { type FakeRuntime, fakeRuntime, readyNode } from '../agent/fake-runtime.ts';

/** kubectl of the PATH, the newest that lies beside it as `kubectl.1.NN`, and those that PORTOLAN_KUBECTL names. */
export function installedKubectls(): string[] {
  const found = (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'kubectl'))
    .find((file) => existsSync(file));
  const beside = found ? siblings(dirname(realpathSync(found))) : [];
  const named = (process.env.PORTOLAN_KUBECTL ?? '').split(delimiter).filter((file) => file !== '');
  return [...new Set([...(found ? [found] : []), ...beside.slice(-1), ...named])];
}

function siblings(folder: string): string[] {
  const minor = (file: string) => Number(file.slice(file.lastIndexOf('.') + 1));
  const files = readdirSync(folder).filter((file) => /^kubectl\.1\.\d+$/.test(file));
  return files.sort((a, b) => minor(a) - minor(b)).map((file) => join(folder, file));
}

export interface Result {
  readonly code: number;
  /** Both streams, as a person sees them. */
  readonly text: string;
}

export interface Terminal {
  readonly server: ApiServer;
  readonly runtime: FakeRuntime;
  readonly home: string;
  /** Runs kubectl and fails unless it succeeds. */
  kubectl(...args: readonly string[]): Promise<string>;
  /** Runs kubectl, whatever comes of it. */
  attempt(...args: readonly string[]): Promise<Result>;
  kubectlWith(
    options: { readonly stdin?: string; readonly env?: NodeJS.ProcessEnv },
    ...args: readonly string[]
  ): Promise<string>;
  /** Starts kubectl and reads what it prints until a line matches, then ends it. */
  kubectlUntil(pattern: RegExp, meanwhile: () => Promise<unknown>, ...args: readonly string[]): Promise<string>;
}

export async function withTerminal(program: string, use: (terminal: Terminal) => Promise<void>): Promise<void> {
  const runtime = fakeRuntime();
  const problems: unknown[] = [];
  const server = await startApiServer({
    runtime,
    advertise: { ip: '192.0.2.1', port: 6443 },
    onProblem: (problem) => problems.push(problem),
  });
  const home = await mkdtemp(join(tmpdir(), 'portolan-kubectl-'));
  const config = join(home, 'kubeconfig');
  await writeFile(config, kubeconfigText({ url: server.url }));
  const base = { HOME: home, KUBECONFIG: config, PATH: process.env.PATH, NO_PROXY: '127.0.0.1' };

  const run = (env: NodeJS.ProcessEnv, stdin: string | undefined, args: readonly string[]): Promise<Result> =>
    new Promise((resolve) => {
      const done = (error: ExecFileException | null, stdout: string, stderr: string) =>
        resolve({ code: error ? Number(error.code ?? 1) : 0, text: stdout + stderr });
      const child = execFile(program, args, { env: { ...base, ...env }, timeout: 60_000 }, done);
      child.stdin?.end(stdin ?? '');
    });
  const succeed = async (env: NodeJS.ProcessEnv, stdin: string | undefined, args: readonly string[]) => {
    const { code, text } = await run(env, stdin, args);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${code}:\n${text}`);
    return text;
  };

  try {
    server.seed([readyNode('node1', 1, 'za'), readyNode('node2', 2, 'zb')]);
    await use({
      server,
      runtime,
      home,
      kubectl: (...args) => succeed({}, undefined, args),
      attempt: (...args) => run({}, undefined, args),
      kubectlWith: ({ stdin, env = {} }, ...args) => succeed(env, stdin, args),
      kubectlUntil: (pattern, meanwhile, ...args) => untilPrinted(program, base, pattern, meanwhile, args),
    });
    if (problems.length > 0) throw new AggregateError(problems, 'controllers had problems');
  } finally {
    await server.close();
    await rm(home, { recursive: true, force: true });
  }
}

async function untilPrinted(
  program: string,
  env: NodeJS.ProcessEnv,
  pattern: RegExp,
  meanwhile: () => Promise<unknown>,
  args: readonly string[],
): Promise<string> {
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const limit = setTimeout(() => child.kill(), 30_000);
  let hasStarted = false;
  const read = (chunk: Buffer) => {
    text += chunk;
    if (!hasStarted) {
      hasStarted = true;
      void meanwhile();
    }
    if (pattern.test(text)) child.kill();
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  await ended;
  clearTimeout(limit);
  if (!pattern.test(text)) throw new Error(`kubectl ${args.join(' ')} never printed ${pattern}:\n${text}`);
  return text;
}
