// `kubectl portolan …`: the agents' answers on a laptop. In: what a person asks of a cluster. Out: the answer of the agent on the
// right node, fetched through the API server's proxy by kubectl itself, with whatever login kubectl has.
import { execFile } from 'node:child_process';
import { parseArgs } from 'node:util';
import { DEFAULT_CONSOLE_PORT } from '../config/configuration.ts';
import { inColumns } from '../lib/columns.ts';
import type { ProblemsShape, ServicesShape, TimelineShape, VerifyShape } from '../observe/console/shapes.ts';
import { drawTrace, inkFor } from '../observe/trace/draw.ts';
import type { TraceReport } from '../observe/trace/report.ts';
import { UsageError } from './usage-error.ts';

const HELP = `Asks the agents of a cluster through its API server.

Usage: kubectl portolan COMMAND [options]

  trace --from CLIENT --to DESTINATION   what becomes of a packet, through the rules that a node's kernel holds now
  services [SEARCH]                      services as a node serves them
  changes                                the last changes, and how long each took
  problems                               drift, failures, and objects that were not understood
  verify                                 whether every rule does what the objects mean; ends with 1 if not

      --from CLIENT      pod/NAME, an address, or one of: node, pod (any), outside
      --to DESTINATION   svc/NAME[:PORT], NAMESPACE/NAME[:PORT], IP:PORT[/udp] or node:PORT
  -n, --namespace NAME   of names without one (default: as in kubectl's context)
      --node NAME        whose agent (default: the node of the pod in --from, else the first)
      --context NAME     kubectl's context
      --port PORT        the console's on the nodes (default: ${DEFAULT_CONSOLE_PORT})
      --token TOKEN      the console's token (default: $PORTOLAN_TOKEN)
  -o, --output FORMAT    text or json

Example: kubectl portolan trace --from pod/web-0 --to svc/cart
`;

const OPTIONS = {
  from: { type: 'string' },
  to: { type: 'string' },
  namespace: { type: 'string', short: 'n' },
  node: { type: 'string' },
  context: { type: 'string' },
  port: { type: 'string', default: String(DEFAULT_CONSOLE_PORT) },
  token: { type: 'string' },
  output: { type: 'string', short: 'o', default: 'text' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

type Options = ReturnType<typeof parsed>['values'];

export async function run(args: readonly string[]): Promise<number> {
  const { values: options, positionals } = parsed(args);
  const [command = 'help', ...rest] = positionals;
  if (options.help || command === 'help') {
    process.stdout.write(HELP);
    return 0;
  }
  const asked = await questionOf(command, rest, options);
  const answer = JSON.parse(await kubectl(options, 'get', '--raw', proxyPath(asked, options))) as object;
  process.stdout.write(options.output === 'json' ? `${JSON.stringify(answer, undefined, 2)}\n` : asked.print(answer));
  return 'agrees' in answer && answer.agrees === false ? 1 : 0;
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(`${(error as Error).message} (see kubectl portolan --help)`);
  }
}

interface Question {
  readonly node: string;
  /** Under `api/`. */
  readonly path: string;
  readonly print: (answer: object) => string;
}

async function questionOf(command: string, rest: readonly string[], options: Options): Promise<Question> {
  switch (command) {
    case 'trace':
      return traceQuestion(options);
    case 'services':
      return {
        node: await someNode(options),
        path: `services?${new URLSearchParams({ search: rest.join(' '), limit: '500' })}`,
        print: (answer) => servicesText(answer as ServicesShape),
      };
    case 'changes':
      return {
        node: await someNode(options),
        path: 'timeline',
        print: (answer) => changesText(answer as TimelineShape),
      };
    case 'problems':
      return {
        node: await someNode(options),
        path: 'problems',
        print: (answer) => problemsText(answer as ProblemsShape),
      };
    case 'verify':
      return { node: await someNode(options), path: 'verify', print: (answer) => verifyText(answer as VerifyShape) };
    default:
      throw new UsageError(`there is no command ${JSON.stringify(command)} (see kubectl portolan --help)`);
  }
}

/** The agent knows Pods that are endpoints; any other Pod's address and node are the API server's to say. */
async function traceQuestion(options: Options): Promise<Question> {
  if (options.from === undefined || options.to === undefined) throw new UsageError('both --from and --to are needed');
  const pod = /^pods?\/(?:([^/]+)\/)?([^/]+)$/.exec(options.from);
  const found = pod ? await podNamed(pod[2]!, pod[1] ?? options.namespace, options) : undefined;
  const node = options.node ?? found?.node ?? (await someNode(options));
  const query = new URLSearchParams({ from: found?.ip ?? options.from, to: await destination(options.to, options) });
  return {
    node,
    path: `trace?${query}`,
    print: (answer) => drawTrace(answer as TraceReport, inkFor(process.stdout), false),
  };
}

async function podNamed(name: string, namespace: string | undefined, options: Options) {
  const where = namespace === undefined ? [] : ['-n', namespace];
  const pod = JSON.parse(await kubectl(options, 'get', 'pod', name, ...where, '-o', 'json')) as {
    readonly spec?: { readonly nodeName?: string };
    readonly status?: { readonly podIP?: string };
  };
  if (!pod.spec?.nodeName || !pod.status?.podIP) throw new UsageError(`pod ${name} has no node or no address yet`);
  return { node: pod.spec.nodeName, ip: pod.status.podIP };
}

/** A Service's name alone means the one in the namespace that kubectl would take. */
async function destination(text: string, options: Options): Promise<string> {
  const name = /^(?:svc|service)\/([^/:]+)(:.+)?$/.exec(text);
  if (!name) return text;
  const namespace =
    options.namespace ??
    ((await kubectl(options, 'config', 'view', '--minify', '-o', 'jsonpath={..namespace}')).trim() || 'default');
  return `${namespace}/${name[1]}${name[2] ?? ''}`;
}

async function someNode(options: Options): Promise<string> {
  if (options.node !== undefined) return options.node;
  const [first] = (await kubectl(options, 'get', 'nodes', '-o', 'jsonpath={.items[*].metadata.name}')).split(/\s+/);
  if (!first) throw new UsageError('the cluster has no nodes');
  return first;
}

function proxyPath({ node, path }: Question, { port, token = process.env.PORTOLAN_TOKEN }: Options): string {
  const withToken = token === undefined ? '' : `${path.includes('?') ? '&' : '?'}${new URLSearchParams({ token })}`;
  return `/api/v1/nodes/${node}:${port}/proxy/api/${path}${withToken}`;
}

/** kubectl has the login, and says itself what is wrong with it. */
function kubectl({ context }: Options, ...args: readonly string[]): Promise<string> {
  const all = [...(context === undefined ? [] : ['--context', context]), ...args];
  return new Promise((resolve, reject) => {
    execFile('kubectl', all, { maxBuffer: 256 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (!error) resolve(stdout);
      else reject(new UsageError(stderr.trim() || error.message));
    });
  });
}

function servicesText({ services, matching }: ServicesShape): string {
  const rows = services.map(({ name, addresses, used, leftOut, verdict }) => [
    name,
    addresses.join(','),
    leftOut > 0 ? `${used} of ${used + leftOut}` : String(used),
    verdict === 'balance' ? '' : verdict === 'reject' ? 'refused: no endpoints' : 'dropped: none on this node',
  ]);
  const more = matching > services.length ? `and ${matching - services.length} more\n` : '';
  return `${table([['SERVICE', 'ADDRESSES', 'ENDPOINTS', ''], ...rows])}${more}`;
}

function changesText({ changes }: TimelineShape): string {
  const rows = changes.map(({ at, family, services, changed, totalMs, sinceChangeMs }) => [
    new Date(at).toISOString(),
    family,
    `${totalMs.toFixed(1)} ms`,
    sinceChangeMs === undefined ? '' : `${Math.round(sinceChangeMs)} ms`,
    `${services.slice(0, 3).join(',')}${changed > 3 ? ` and ${changed - 3} more` : ''}`,
  ]);
  return table([['AT', 'FAMILY', 'SYNC', 'SINCE CHANGE', 'SERVICES'], ...rows]);
}

function problemsText({ objects, troubles }: ProblemsShape): string {
  const lines = [
    ...troubles.map(({ at, kind, text, mendedAt }) => {
      const end = mendedAt === undefined ? 'not put right yet' : `put right after ${mendedAt - at} ms`;
      return `${new Date(at).toISOString()} ${kind}: ${text}; ${end}`;
    }),
    ...objects.map(({ object, field, reason }) => `${object} ${field}: ${reason}`),
  ];
  return lines.length === 0 ? 'no problems\n' : `${lines.join('\n')}\n`;
}

function verifyText({ agrees, cases, services, milliseconds, mismatches, drift }: VerifyShape): string {
  return [
    `${cases} cases of ${services} services in ${milliseconds} ms: ${agrees ? 'all agree' : `${mismatches.length} differ`}`,
    ...mismatches.map(({ cause, client, frontend }) => `${cause}: ${client} → ${frontend}`),
    ...drift,
    '',
  ].join('\n');
}

function table(rows: readonly (readonly string[])[]): string {
  return inColumns(rows)
    .map((line) => `${line}\n`)
    .join('');
}
