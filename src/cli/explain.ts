// `portolan explain service NAME`: all there is to say about one Service on one node.
import { agentNews } from '../kernel/agent-lock.ts';
import type { Family } from '../lib/ip.ts';
import type { AgentNews, ChangeRecord } from '../observe/history.ts';
import { inkFor } from '../observe/trace/draw.ts';
import { explainService } from '../observe/trace/explain.ts';
import { Walker } from '../observe/trace/walk.ts';
import { observationsOf } from './explain-observations.ts';
import { explanationText } from './explain-text.ts';
import { parseQuestion, printJson } from './trace-options.ts';
import { namedService } from './trace-service.ts';
import { SITUATION_HELP, SITUATION_OPTIONS, situationOf } from './trace-situation.ts';
import { UsageError } from './usage-error.ts';
import { verifyInputOf } from './verify-input.ts';

const HELP = `Says everything about one Service on one node: addresses, policies, endpoints with the reasons of those that are left
out, who gets what, rules, remembered clients, and what was counted.

Usage: portolan explain service NAME -f FILE|DIR|- [--live | --rules FILE] [options]

${SITUATION_HELP}
`;

export async function run(args: readonly string[]): Promise<number> {
  const { options, names, isJson } = parseQuestion('explain', args, SITUATION_OPTIONS);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const [kind, name] = names;
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
        observations: await observationsOf(here, situation.configuration.mode, family),
        changes: here.isLive ? await lastChanges(key, family) : [],
      }),
    );
  }
  if (isJson) printJson(explanations);
  else for (const one of explanations) process.stdout.write(explanationText(one, inkFor(process.stdout)));
  return 0;
}

/** Only the agent of this node knows them. */
async function lastChanges(service: string, family: Family): Promise<readonly ChangeRecord[]> {
  const news = (await agentNews()) as Partial<AgentNews> | undefined;
  return (news?.changes ?? []).filter((change) => change.family === family && change.services.includes(service));
}
