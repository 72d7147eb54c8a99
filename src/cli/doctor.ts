// `portolan doctor SERVICE`: the questions of a guide to debugging Services, asked and answered in order. The first that has a bad
// answer is named at the end.
import { readSysctlIfAny } from '../kernel/sysctl.ts';
import type { Family } from '../lib/ip.ts';
import { type Ink, inkFor } from '../observe/trace/draw.ts';
import { type Check, checkup } from '../observe/verify/checkup.ts';
import { verify } from '../observe/verify/verify.ts';
import { parseQuestion, printJson } from './trace-options.ts';
import { type NamedService, namedService } from './trace-service.ts';
import { SITUATION_HELP, SITUATION_OPTIONS, type Situation, situationOf } from './trace-situation.ts';
import { UsageError } from './usage-error.ts';
import { verifyInputOf } from './verify-input.ts';

const HELP = `Goes through what can be wrong with a Service, from its objects to the kernel's rules, and names the first thing that is.

Usage: portolan doctor SERVICE -f FILE|DIR|- [--live | --rules FILE] [options]

${SITUATION_HELP}

Ends with 0 if nothing is wrong, else with 1.
`;

export async function run(args: readonly string[]): Promise<number> {
  const { options, names, isJson } = parseQuestion('doctor', args, SITUATION_OPTIONS);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const [name] = names;
  if (name === undefined || names.length > 1) throw new UsageError('the name of one Service is needed');
  if (!options.filename && options.kubeconfig === undefined)
    throw new UsageError('which objects? Give files with -f, or --kubeconfig');
  const situation = await situationOf(options);
  const patient = namedService(name, situation);
  const reports = [];
  for (const family of patient.families) reports.push({ family, checks: await checksOf(patient, situation, family) });

  const first = reports.flatMap(({ checks }) => checks).find(({ result }) => result === 'bad');
  if (isJson) {
    const shown = { service: patient.key, node: situation.nodeName, families: reports, firstProblem: first ?? null };
    printJson(shown);
  } else {
    const ink = inkFor(process.stdout);
    for (const { family, checks } of reports)
      process.stdout.write(
        `${[ink.bold(`${patient.key}, ${family}`), ...checks.flatMap((check) => lines(check, ink))].join('\n')}\n`,
      );
    process.stdout.write(
      `${first ? ink.bad(`First: ${first.answer}. ${first.advice ?? ''}`) : ink.good('Nothing is wrong.')}\n`,
    );
  }
  return first ? 1 : 0;
}

async function checksOf(patient: NamedService, situation: Situation, family: Family): Promise<readonly Check[]> {
  const here = await situation.inFamily(family);
  const model = here.view.model.services.get(patient.key);
  const input = verifyInputOf(here);
  const services = new Map(model ? [[patient.key, model]] : []);
  const { mismatches } = verify({ ...input, model: { ...input.model, services } });
  const nodes = [...situation.cluster.tracker.take(family).slices.values()]
    .flatMap((slices) => [...slices.values()])
    .flatMap(({ endpoints }) => endpoints.flatMap(({ nodeName }) => nodeName ?? []));
  return checkup({
    service: patient.service,
    model,
    slices: patient.slices,
    nodesInSlices: new Set(nodes),
    nodeName: situation.nodeName,
    family,
    mismatches,
    rules: here.held && here.source,
    isForwarding: here.isLive ? isForwarding(family) : undefined,
  });
}

function isForwarding(family: Family): boolean {
  const name = family === 'IPv4' ? 'net/ipv4/ip_forward' : 'net/ipv6/conf/all/forwarding';
  return readSysctlIfAny(name) === '1';
}

function lines({ question, result, answer, advice }: Check, ink: Ink): readonly string[] {
  const mark = { good: ink.good('✓'), bad: ink.bad('✗'), note: ink.note('!') }[result];
  return [`${mark} ${question} ${answer}`, ...(advice && result !== 'good' ? [`    ${ink.dim(advice)}`] : [])];
}
