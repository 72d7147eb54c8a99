// `portolan lab exec NODE|POD -- COMMAND …`: runs a command there, with this terminal.
import { spawn } from 'node:child_process';
import { enterHostArgv, hostEnv } from '../lab/inside-host.ts';
import { placeIn, runningLab } from './lab-running.ts';
import { UsageError } from './usage-error.ts';

export async function run([wanted, ...rest]: readonly string[]): Promise<number> {
  const argv = rest[0] === '--' ? rest.slice(1) : rest;
  if (!wanted || argv.length === 0) throw new UsageError('lab exec NODE|POD -- COMMAND ...');
  return execIn(wanted, argv);
}

/** Resolves to the command's status. */
export async function execIn(wanted: string, argv: readonly string[]): Promise<number> {
  const lab = await runningLab();
  const { host } = await placeIn(lab, wanted);
  const [program, ...args] = enterHostArgv(lab.state.sandboxPid, host, argv);
  return inherit(program!, args, hostEnv(wanted));
}

/** Ctrl-C is for the command; we end when it does. */
export function inherit(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const ignore = () => {};
  process.on('SIGINT', ignore);
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'inherit', env });
    child.on('error', reject);
    child.on('close', (status) => {
      process.off('SIGINT', ignore);
      resolve(status ?? 1);
    });
  });
}
