// Programs started in a host. A child is born in the namespace where its parent's thread stands, so it is enough to start
// it there.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Command, ExecResult, Exit } from './messages.ts';

/** Starts a program in the namespace where the thread stands. */
export function start({ argv, stdin, env, cwd }: Omit<Command, 'host'>): ChildProcessWithoutNullStreams {
  const [program, ...args] = argv;
  const child = spawn(program!, args, {
    ...(env && { env: { PATH: process.env.PATH, ...env } }),
    ...(cwd && { cwd }),
  });
  child.stdin.on('error', () => {}); // it may end without reading its input; its status tells
  child.stdin.end(stdin ?? '');
  return child;
}

/** Waits for a program and gathers what it wrote. Rejects if it could not be started. */
export async function finish(child: ChildProcessWithoutNullStreams): Promise<ExecResult> {
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on('data', (data: Buffer) => stdout.push(data));
  child.stderr.on('data', (data: Buffer) => stderr.push(data));
  const exit = await exitOf(child);
  return { ...exit, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() };
}

/** Resolves when the program has ended and all its output was read. */
export function exitOf(child: ChildProcessWithoutNullStreams): Promise<Exit> {
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status, signal) => resolve({ status, signal }));
  });
}
