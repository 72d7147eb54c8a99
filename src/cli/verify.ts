// `portolan verify`: do the rules that are there do what the objects say? Exit code 0: yes, 1: no, 2: it could not be asked.
import { type Ink, inkFor } from '../observe/trace/draw.ts';
import { causeText } from '../observe/verify/cause.ts';
import type { Drift } from '../observe/verify/drift.ts';
import { driftText } from '../observe/verify/drift-text.ts';
import { type Mismatch, type VerifyReport, verify } from '../observe/verify/verify.ts';
import { printJson } from './trace-options.ts';
import { SITUATION_HELP, situationOf } from './trace-situation.ts';
import { parseNodeQuestion, verifyInputOf } from './verify-input.ts';

const HELP = `Checks, for every address of every Service and every kind of client, that three things agree: what the objects mean, what
the proxy would write, and what the kernel does. Packets are walked through the rules; none is sent.

Usage: portolan verify -f FILE|DIR|- [--live | --rules FILE] [options]

      --family FAMILY    ipv4 or ipv6 (default: both)
${SITUATION_HELP}

Ends with 0 if all agree, with 1 if something differs. Without --live or --rules the plan alone is checked.
`;

export async function run(args: readonly string[]): Promise<number> {
  const { options, isJson, families } = parseNodeQuestion('verify', args);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const situation = await situationOf(options);
  const reports = [];
  for (const family of families) {
    const here = await situation.inFamily(family);
    const startedAt = performance.now();
    const report = verify(verifyInputOf(here));
    reports.push({
      family,
      node: situation.nodeName,
      rules: here.source,
      ...report,
      milliseconds: Math.round(performance.now() - startedAt),
    });
  }
  const isGood = reports.every(({ mismatches, drift }) => mismatches.length === 0 && drift.length === 0);
  if (isJson) printJson({ agrees: isGood, families: reports });
  else for (const report of reports) process.stdout.write(reportText(report, inkFor(process.stdout)));
  return isGood ? 0 : 1;
}

type FamilyReport = VerifyReport & { readonly family: string; readonly rules: string; readonly milliseconds: number };

/** Many cases often have one cause; each cause is told once, with its first case. */
function reportText(report: FamilyReport, ink: Ink): string {
  const byCause = Map.groupBy(report.mismatches, ({ cause }) => causeText(cause));
  const isGood = report.mismatches.length === 0 && report.drift.length === 0;
  const lines = [
    `${report.family}: ${report.services} services, ${report.frontends} addresses, ${report.cases} cases asked of the objects and of the rules ${report.rules}, in ${report.milliseconds} ms`,
    ...[...byCause].flatMap(([cause, cases]) => causeLines(cause, cases, ink)),
    ...report.drift.map((drift: Drift) => `${ink.bad('✗')} ${driftText(drift)}; no case depends on it`),
    ...(report.unjudged.length === 0 ? [] : unjudgedLines(report.unjudged, ink)),
    isGood ? ink.good('✓ all agree') : ink.bad(`✗ ${report.mismatches.length} cases differ`),
  ];
  return `${lines.join('\n')}\n`;
}

function causeLines(cause: string, cases: readonly Mismatch[], ink: Ink): readonly string[] {
  const [first] = cases;
  const services = new Set(cases.map(({ service }) => service)).size;
  return [
    `${ink.bad('✗')} ${ink.bold(cause)}`,
    `    ${cases.length} cases of ${services} services, as ${first!.client} → ${first!.frontend} (${first!.service})`,
    `    should be: ${first!.expected.join(', ')}`,
    `    is:        ${first!.actual.join(', ')}`,
  ];
}

function unjudgedLines(unjudged: readonly Mismatch[], ink: Ink): readonly string[] {
  const [first] = unjudged;
  return [
    `${ink.note('?')} ${unjudged.length} cases depend on rules that cannot be judged, as ${first!.client} → ${first!.frontend}: ${causeText(first!.cause)}`,
  ];
}
