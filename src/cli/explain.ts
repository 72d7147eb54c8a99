// `portolan explain service NAME`: all there is to say about one Service on one node.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { runProcess } from '../kernel/process.ts';
import type { Family } from '../lib/ip.ts';
import type { ServicePort } from '../model/model.ts';
import { endpointChain, serviceChains } from '../modes/iptables/names.ts';
import { inkFor } from '../observe/trace/draw.ts';
import { explainService, type Observations } from '../observe/trace/explain.ts';
import type { Ruleset } from '../observe/trace/ruleset.ts';
import { Walker } from '../observe/trace/walk.ts';
import { explanationText } from './explain-text.ts';
import { namedService } from './trace-service.ts';
import { type FamilySituation, SITUATION_HELP, SITUATION_OPTIONS, situationOf } from './trace-situation.ts';
import { UsageError } from './usage-error.ts';
import { verifyInputOf } from './verify-input.ts';

const HELP = `Says everything about one Service on one node: addresses, policies, endpoints with the reasons of those that are left
out, who gets what, rules, remembered clients, and what was counted.

Usage: portolan explain service NAME -f FILE|DIR|- [--live | --rules FILE] [options]

${SITUATION_HELP}
`;

export async function run(args: readonly string[]): Promise<number> {
  const { options, words } = parseOptions(args);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const [kind, name] = words;
  if (kind !== 'service' || name === undefined) throw new UsageError('say: portolan explain service NAME');
  if (!options.filename && options.kubeconfig === undefined)
    throw new UsageError('which objects? Give files with -f, or --kubeconfig');
  const situation = await situationOf(options);
  const { key, families } = namedService(name, situation);
  const explanations = [];
  for (const family of families) {
    const here = await situation.inFamily(family);
    const service = here.view.model.services.get(key);
    if (!service) continue;
    const { pod, outside, nodeIp } = verifyInputOf(here).around;
    const thisNode = { name: 'this node', ip: nodeIp, device: undefined, isThisHost: true };
    explanations.push(
      explainService({
        service,
        family,
        walker: new Walker(here.held ?? here.planned),
        host: here.host,
        clients: [...(pod ? [pod] : []), thisNode, outside],
        context: { node: situation.nodeName, rules: here.source, origins: here.origins, book: here.book },
        observations: await observationsOf(here, family),
      }),
    );
  }
  if (options.output === 'json') process.stdout.write(`${JSON.stringify(explanations, undefined, 2)}\n`);
  else for (const one of explanations) process.stdout.write(explanationText(one, inkFor(process.stdout)));
  return 0;
}

async function observationsOf(here: FamilySituation, family: Family): Promise<Observations> {
  const counts = here.isLive ? await countedRules(family) : new Map<string, number>();
  return {
    connections: (port, address) => counts.get(endpointChain(port, address)),
    remembered: (port, address) => (here.isLive ? rememberedIn(endpointChain(port, address)) : []),
    rules: (port) => rulesOf(port, here.held ?? here.planned),
  };
}

/** How often each endpoint's chain has translated: nat rules see the first packet of a connection alone. */
async function countedRules(family: Family): Promise<ReadonlyMap<string, number>> {
  const program = family === 'IPv4' ? 'iptables-save' : 'ip6tables-save';
  const { stdout } = await runProcess(program, ['-c', '-t', 'nat']);
  const counts = stdout.matchAll(/^\[(\d+):\d+\] -A (\S+) .*-j DNAT/gm);
  return new Map([...counts].map(([, packets, chain]) => [chain!, Number(packets)]));
}

/** The kernel's list of recent clients of one endpoint. It also keeps some whose time is over, until the list is asked again. */
function rememberedIn(list: string): readonly string[] {
  try {
    return [...readFileSync(`/proc/net/xt_recent/${list}`, 'utf8').matchAll(/^src=(\S+)/gm)].map(
      ([, client]) => client!,
    );
  } catch {
    return []; // there is no list as long as no rule asks for one
  }
}

/** Its own chains, and the rules in shared chains that lead there or refuse for it. */
function rulesOf(port: ServicePort, ruleset: Ruleset): readonly string[] {
  const own = new Set<string>([
    ...Object.values(serviceChains(port)),
    ...port.backends.reachable.map(({ address }) => endpointChain(port, address)),
  ]);
  const comment = `${port.displayName} `;
  return ruleset.tables.flatMap(({ chains }) =>
    [...chains.values()].flatMap(({ name, rules }) =>
      rules
        .filter(
          ({ text, statements }) =>
            own.has(name) ||
            statements.some((statement) => 'chain' in statement && own.has(statement.chain)) ||
            text.includes(`"${comment}`),
        )
        .map(({ text }) => text),
    ),
  );
}

function parseOptions(args: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: SITUATION_OPTIONS,
      strict: true,
      allowPositionals: true,
    });
    if (values.output !== 'text' && values.output !== 'json')
      throw new Error(`--output ${values.output}: must be text or json`);
    return { options: values, words: positionals };
  } catch (error) {
    throw new UsageError(`${(error as Error).message} (see portolan explain --help)`);
  }
}
