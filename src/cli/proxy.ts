// `portolan proxy`, and the program kube-proxy: the daemon, with upstream's flags, texts and exit codes.
import { readFileSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { complete, fileProblem, type Invocation } from '../config/options.ts';
import { configurationYaml } from '../config/write.ts';
import { createLog, type Log } from '../observe/log.ts';

export async function run(args: readonly string[]): Promise<number> {
  const invocation = complete(args, (path) => readFileSync(path, 'utf8'));
  switch (invocation.action) {
    case 'help':
    case 'version':
      process.stdout.write(invocation.text);
      return 0;
    case 'refuse':
      process.stderr.write(invocation.text);
      return 1;
    case 'fail': {
      const log = openLog(invocation.start);
      log.error(invocation.error, 'command failed');
      return 1;
    }
    default:
      return runLogged(invocation, openLog(invocation.start));
  }
}

type Runnable = Extract<Invocation, { readonly action: 'write-config' | 'cleanup' | 'init-only' | 'run' }>;

/** Ends the process at once: sockets and timers of a running agent would keep it alive, and its log is never buffered. */
async function runLogged(invocation: Runnable, log: Log): Promise<never> {
  process.on('uncaughtException', (error) => crash(error, log));
  try {
    process.exit(await perform(invocation, log));
  } catch (error) {
    log.error(error, 'Error running ProxyServer');
    log.error(error, 'command failed');
    process.exit(1);
  }
}

/** A mistake of ours: one record of the log like any other, and an exit code of its own. */
function crash(error: unknown, log: Log): never {
  log.error(error instanceof Error ? (error.stack ?? error) : error, 'Crashed');
  process.exit(2);
}

async function perform(invocation: Runnable, log: Log): Promise<number> {
  const { action, ...ready } = invocation;
  switch (action) {
    case 'write-config':
      writeConfiguration(ready.writeConfigTo, configurationYaml(ready.configuration));
      log.info('Wrote configuration', { file: ready.writeConfigTo });
      return 0;
    case 'cleanup': {
      const { cleanUp } = await import('../daemon/cleanup.ts');
      if (!(await cleanUp(log))) throw new Error('encountered an error while tearing down rules');
      return 0;
    }
    case 'init-only':
    case 'run': {
      if (ready.configuration.mode === 'iptables') saveMemory();
      const { runAgent } = await import('../daemon.ts');
      return runAgent({ ready, log, initOnly: action === 'init-only' });
    }
  }
}

function writeConfiguration(path: string, yaml: string): void {
  try {
    writeFileSync(path, yaml);
  } catch (error) {
    throw new Error(fileProblem(path, error), { cause: error });
  }
}

/** Rules are planned now and then, a few at a time: optimised code would save milliseconds, and to make it costs some 12 MB. */
function saveMemory(): void {
  for (const flag of ['--no-opt', '--no-maglev']) setFlagsFromString(flag);
}

function openLog({ logSettings, notes, warnings }: Runnable['start']): Log {
  for (const warning of warnings) process.stderr.write(`${warning}\n`);
  const log = createLog(logSettings);
  for (const note of notes) log.write(note);
  return log;
}
