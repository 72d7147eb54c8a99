// Runs a program of the host to its end. No shell; arguments are passed as they are.
import { spawn } from 'node:child_process';
import { KernelError } from './error.ts';

export interface ProcessResult {
  /** Exit code, or -1 if a signal ended it. */
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProcessOptions {
  /** Written to standard input, a piece at a time: the whole need not be in memory as one text. */
  readonly input?: Iterable<string>;
  readonly timeoutSeconds?: number;
}

export type RunProcess = typeof runProcess;

const DEFAULT_TIMEOUT_SECONDS = 300;

export async function runProcess(
  program: string,
  args: readonly string[],
  options: ProcessOptions = {},
): Promise<ProcessResult> {
  const { promise, resolve, reject } = Promise.withResolvers<ProcessResult>();
  const child = spawn(program, args, {
    stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    env: { ...process.env, PATH: `${process.env.PATH ?? ''}:/usr/sbin:/sbin`, LC_ALL: 'C' },
  });
  // Not spawn's own timeout: where the program is missing, that one stays and keeps this process from ending.
  const timeout = setTimeout(() => child.kill(), (options.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS) * 1000);
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => stderr.push(chunk));
  child.on('error', (cause: NodeJS.ErrnoException) => {
    clearTimeout(timeout);
    const isMissing = cause.code === 'ENOENT';
    const detail = isMissing ? 'this program is not installed' : cause.message;
    reject(new KernelError(isMissing ? 'TOOL_MISSING' : 'TOOL_FAILED', { operation: program, detail, cause }));
  });
  child.on('close', (code, signal) => {
    clearTimeout(timeout);
    const ended = signal ? `ended by ${signal}\n` : '';
    resolve({
      status: code ?? -1,
      stdout: Buffer.concat(stdout).toString(),
      stderr: ended + Buffer.concat(stderr).toString(),
    });
  });
  if (child.stdin && options.input !== undefined) {
    child.stdin.on('error', () => {}); // the program ended before it read everything; its exit code tells why
    for (const piece of pieces(options.input)) child.stdin.write(piece);
    child.stdin.end();
  }
  return promise;
}

const PIECE_LENGTH = 1 << 16;

function* pieces(lines: Iterable<string>): Generator<string> {
  let piece = '';
  for (const line of lines) {
    piece += line;
    if (piece.length < PIECE_LENGTH) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}
