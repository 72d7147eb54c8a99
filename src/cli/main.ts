// The command line: `portolan COMMAND …`, and the daemon itself under the name kube-proxy. Each command is a file beside this
// one, loaded only when it is asked for.
import { UsageError } from './usage-error.ts';

export interface Command {
  readonly about: string;
  readonly load: () => Promise<{ run(args: readonly string[]): Promise<number> }>;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  lab: { about: 'a cluster on this machine, to take apart', load: () => import('./lab.ts') },
  proxy: { about: 'run the agent: kube-proxy, with its flags', load: () => import('./proxy.ts') },
  check: { about: 'say what this host supports, before a swap', load: () => import('./check.ts') },
  migrate: { about: 'say what another mode would change, Service by Service', load: () => import('./migrate.ts') },
  render: {
    about: 'print the rules a node would hold, from files, without touching anything',
    load: () => import('./render.ts'),
  },
  trace: { about: 'show what becomes of a packet, rule by rule, and why', load: () => import('./trace.ts') },
  verify: { about: 'check that rules do what the objects mean, case by case', load: () => import('./verify.ts') },
  explain: { about: 'say everything about one Service on a node', load: () => import('./explain.ts') },
  doctor: { about: 'find the first thing that is wrong with a Service', load: () => import('./doctor.ts') },
  diff: { about: 'show how the kernel differs from the plan, rule by rule', load: () => import('./diff.ts') },
};

export async function main(program: string, args: readonly string[]): Promise<number> {
  const [name = 'help', ...rest] = program === 'kube-proxy' ? ['proxy', ...args] : args;
  if (program === 'kubectl-portolan') return runKubectlPlugin(args);
  const command = COMMANDS[name];
  if (!command) return showHelp(name);
  try {
    return await (await command.load()).run(rest);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`portolan ${name}: ${error.message}\n`);
    return 2;
  }
}

async function runKubectlPlugin(args: readonly string[]): Promise<number> {
  try {
    return await (await import('./kubectl-plugin.ts')).run(args);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`kubectl portolan: ${error.message}\n`);
    return 2;
  }
}

function showHelp(name: string): number {
  const isAsked = ['help', '--help', '-h'].includes(name);
  const width = Math.max(...Object.keys(COMMANDS).map((command) => command.length));
  const lines = [
    ...(isAsked
      ? ['Portolan: a kube-proxy that is fast and shows what it does.']
      : [`portolan: there is no command ${JSON.stringify(name)}`]),
    '',
    'Usage: portolan COMMAND [options]',
    '',
    ...Object.entries(COMMANDS).map(([command, { about }]) => `  ${command.padEnd(width)}  ${about}`),
    '',
    '`portolan COMMAND --help` says more about one of them.',
  ];
  (isAsked ? process.stdout : process.stderr).write(`${lines.join('\n')}\n`);
  return isAsked ? 0 : 2;
}

process.exitCode = await main(process.env.PORTOLAN_PROGRAM ?? 'portolan', process.argv.slice(2));
