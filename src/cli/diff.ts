// `portolan diff`: drift, rule by rule: what the kernel holds against what the objects ask for. Exit code 1 if there is any.
import { type Ink, inkFor } from '../observe/trace/draw.ts';
import { type Drift, driftOf } from '../observe/verify/drift.ts';
import { printJson } from './trace-options.ts';
import { SITUATION_HELP, situationOf } from './trace-situation.ts';
import { parseNodeQuestion } from './verify-input.ts';

const HELP = `Shows, rule by rule, how the kernel's rules differ from those that the objects ask for. Rules compare by what they say, not by
their text, and only the proxy's own are compared.

Usage: portolan diff -f FILE|DIR|- [--rules FILE] [options]

      --family FAMILY    ipv4 or ipv6 (default: both)
${SITUATION_HELP}

  - should be there, and is not     + is there, and should not     ~ is there, but in another form

Ends with 0 if there is no difference, else with 1.
`;

export async function run(args: readonly string[]): Promise<number> {
  const { options, isJson, families } = parseNodeQuestion('diff', args);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const situation = await situationOf({ ...options, live: options.rules === undefined });
  const found = [];
  for (const family of families) {
    const { planned, held, source, scope } = await situation.inFamily(family);
    found.push({ family, rules: source, drift: driftOf(planned, held!, scope) });
  }
  const hasDrift = found.some(({ drift }) => drift.length > 0);
  if (isJson) {
    printJson({ node: situation.nodeName, families: found });
  } else {
    const ink = inkFor(process.stdout);
    for (const { family, rules, drift } of found) {
      process.stdout.write(
        `${family}, rules ${rules}: ${drift.length === 0 ? ink.good('as they should be') : `${drift.length} differences`}\n`,
      );
      for (const line of drift.flatMap((one, i) => driftLines(one, drift[i - 1], ink)))
        process.stdout.write(`${line}\n`);
    }
  }
  return hasDrift ? 1 : 0;
}

/** Each chain is named once, above its rules. */
function driftLines(drift: Drift, before: Drift | undefined, ink: Ink): readonly string[] {
  const isNew = before?.table !== drift.table || before.chain !== drift.chain;
  const heading = isNew ? [ink.bold(`${drift.table} ${drift.chain}`)] : [];
  switch (drift.kind) {
    case 'missing-chain':
      return [...heading, ink.bad(`- :${drift.chain}`)];
    case 'extra-chain':
      return [...heading, ink.good(`+ :${drift.chain}`)];
    case 'missing-rule':
      return [...heading, ink.bad(`- ${drift.rule}`)];
    case 'extra-rule':
      return [...heading, ink.good(`+ ${drift.rule}`)];
    case 'wrong-probability':
      return [...heading, ink.bad(`- ${drift.planned}`), ink.good(`+ ${drift.rule}`)];
    case 'wrong-order':
      return [...heading, ink.note(`~ in the wrong place: ${drift.rule}`)];
    case 'missing-row':
      return [...heading, ink.bad(`- ${drift.row}`)];
    case 'extra-row':
      return [...heading, ink.good(`+ ${drift.row}`)];
    case 'wrong-row':
      return [...heading, ink.bad(`- ${drift.planned}`), ink.good(`+ ${drift.row}`)];
    case 'second-copy':
      return [...heading, ink.note(`~ the ${drift.tables} tables have this chain too`)];
  }
}
