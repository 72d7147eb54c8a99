// `portolan trace`: what becomes of a packet on its way through a node's rules, hop by hop, with shares and reasons.
import { familyOf } from '../lib/ip.ts';
import { packetFrom } from '../observe/trace/clients.ts';
import { drawTrace, inkFor } from '../observe/trace/draw.ts';
import { traceReport } from '../observe/trace/report.ts';
import { Walker } from '../observe/trace/walk.ts';
import { clientOf, destinationOf } from './trace-ends.ts';
import { noNames, parseQuestion, printJson } from './trace-options.ts';
import { SITUATION_HELP, SITUATION_OPTIONS, situationOf } from './trace-situation.ts';
import { UsageError } from './usage-error.ts';

const HELP = `Shows what becomes of a packet: every rule it meets, how likely each way is, and which field is the reason.

Usage: portolan trace --from CLIENT --to DESTINATION [-f FILE|DIR|-] [options]

      --from CLIENT      an address, a pod's name, or one of: node, pod (any that is no endpoint), outside
      --to DESTINATION   SERVICE[:PORT], IP:PORT[/udp] or node:PORT
      --in DEVICE        the device the packet comes in by, where rules ask for it
      --mark MARK        a mark that it has already
      --state STATE      NEW (default), ESTABLISHED, RELATED or INVALID
      --all              also show jumps into chains in which nothing matched
${SITUATION_HELP}

Example: portolan trace -f examples/yaobank.yaml --node node1 --from outside --to node:30180
`;

const OPTIONS = {
  ...SITUATION_OPTIONS,
  from: { type: 'string' },
  to: { type: 'string' },
  in: { type: 'string' },
  mark: { type: 'string', default: '0' },
  state: { type: 'string', default: 'NEW' },
  all: { type: 'boolean', default: false },
} as const;

export async function run(args: readonly string[]): Promise<number> {
  const { options, names, isJson } = parseQuestion('trace', args, OPTIONS);
  noNames(names);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (options.from === undefined || options.to === undefined) throw new UsageError('both --from and --to are needed');
  const situation = await situationOf(options);
  const to = destinationOf(options.to, situation);
  const here = await situation.inFamily(familyOf(to.ip));
  const client = clientOf(options.from, to, options.in, situation.cluster, here);
  const packet = {
    ...packetFrom(client, to.ip, to.port, to.protocol),
    mark: Number(options.mark),
    state: options.state,
  };
  const outcomes = new Walker(here.held ?? here.planned).walk(packet, here.host);
  const report = traceReport(packet, outcomes, {
    node: situation.nodeName,
    rules: here.source,
    origins: here.origins,
    book: here.book,
  });
  if (isJson) printJson(report);
  else process.stdout.write(drawTrace(report, inkFor(process.stdout), options.all));
  return 0;
}
