// `portolan lab …`: a cluster to take apart. Each of its commands is a file beside this one, loaded when it is asked for.
import { LabRefusal } from '../lab/control.ts';
import { UsageError } from './usage-error.ts';

interface LabCommand {
  readonly usage: string;
  /** Absent for what the lab itself uses. */
  readonly about?: string;
  readonly load: () => Promise<{ run(args: readonly string[]): Promise<number> }>;
}

const COMMANDS: Readonly<Record<string, LabCommand>> = {
  up: { usage: 'up [options]', about: 'start the cluster; Ctrl-C removes it', load: () => import('./lab-up.ts') },
  status: { usage: 'status', about: 'draw the map again', load: () => import('./lab-status.ts') },
  kubectl: {
    usage: 'kubectl ...',
    about: 'kubectl, for this cluster',
    load: () => import('./lab-kubectl.ts'),
  },
  exec: {
    usage: 'exec NODE|POD -- COMMAND ...',
    about: 'run a command in a node, a pod or the outside client',
    load: () => import('./lab-exec.ts'),
  },
  ssh: { usage: 'ssh NODE|POD', about: 'a shell there', load: () => import('./lab-ssh.ts') },
  curl: {
    usage: 'curl [--from NODE|POD] [--times N] URL',
    about: 'ask for a page, many times; who answered, as a chart',
    load: () => import('./lab-curl.ts'),
  },
  chaos: {
    usage: 'chaos [KIND [NODE|POD]]',
    about: 'kill pods, drain nodes, cut cables, flush rules, stop the API server',
    load: () => import('./lab-chaos.ts'),
  },
  mode: {
    usage: 'mode MODE [NODE]',
    about: 'have the agents work in another mode',
    load: () => import('./lab-mode.ts'),
  },
  lesson: {
    usage: 'lesson [N]',
    about: 'walk through a lesson; without a number, list them',
    load: () => import('./lab-lesson.ts'),
  },
  'as-root': { usage: 'as-root COMMAND ...', load: () => import('./lab-as-root.ts') },
  down: { usage: 'down', about: 'remove the cluster', load: () => import('./lab-down.ts') },
};

export async function run(args: readonly string[]): Promise<number> {
  const [first = 'up', ...rest] = args;
  if (['help', '--help', '-h'].includes(first)) {
    process.stdout.write(help());
    return 0;
  }
  // Options without a command belong to `up`.
  const [name, others] = first.startsWith('-') ? ['up', args] : [first, rest];
  const command = COMMANDS[name];
  if (!command) throw new UsageError(`there is no command ${JSON.stringify(name)}\n\n${help()}`);
  try {
    return await (await command.load()).run(others);
  } catch (error) {
    if (!(error instanceof LabRefusal)) throw error;
    process.stderr.write(`portolan lab ${name}: ${error.message}\n`);
    return 1;
  }
}

function help(): string {
  const shown = Object.values(COMMANDS).flatMap(({ usage, about }) => (about ? [{ usage, about }] : []));
  const width = Math.max(...shown.map(({ usage }) => usage.length));
  const lines = shown.map(({ usage, about }) => `  ${usage.padEnd(width)}  ${about}`);
  return `A Kubernetes cluster on this machine, made of network namespaces, with the real agent on every node.

Usage: portolan lab COMMAND

${lines.join('\n')}

Without a command the cluster is started. \`portolan lab up --help\` lists the options.
`;
}
