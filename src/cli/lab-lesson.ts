// `portolan lab lesson N`: walks through a lesson in the running lab: explains, runs each command, checks what it shows.
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { askLabOnce } from '../lab/control.ts';
import type { Step } from '../lab/lessons/lesson.ts';
import { firstNames, lessonFiles, readLesson } from '../lab/lessons/lessons.ts';
import { renamed } from '../lab/lessons/match.ts';
import { isThere, runStep } from '../lab/lessons/run.ts';
import { lessonShell } from '../lab/lessons/shell.ts';
import type { LabStatus } from '../lab/status.ts';
import { runningLab } from './lab-running.ts';
import { UsageError } from './usage-error.ts';

const HELP = `Walks through a lesson in the running lab: explains, runs each command, checks what it shows.

Usage: portolan lab lesson N [--yes]

  -y, --yes   do not wait for Enter before each command
`;

/** What a person may do instead of Enter. */
type Choice = 'run' | 'skip' | 'quit';

export async function run(args: readonly string[]): Promise<number> {
  const { wanted, isHelp, asksFirst } = optionsOf(args);
  if (isHelp) process.stdout.write(HELP);
  if (isHelp || wanted === undefined) return list();
  const file = lessonFiles().find(({ number }) => String(number) === wanted);
  if (!file) throw new UsageError(`there is no lesson ${wanted}`);
  const { folder } = await runningLab();
  const shellIn = lessonShell(folder);
  let names = firstNames(await askLabOnce<LabStatus>(folder, 'status'));
  let surprises = 0;
  for (const part of readLesson(file).parts) {
    if (part.kind === 'prose') {
      process.stdout.write(`${part.text}\n\n`);
      continue;
    }
    process.stdout.write(`${promptOf(part)}${renamed(part.command, names)}\n`);
    if (part.needs !== undefined && !(await isThere(part.needs, shellIn))) {
      process.stdout.write(`  – not run: this machine does not have ${part.needs}\n\n`);
      continue;
    }
    const choice = asksFirst ? await ask() : 'run';
    if (choice === 'quit') return 0;
    if (choice === 'skip') continue;
    const result = await runStep(part, names, shellIn);
    names = result.names;
    if (!result.isAsShown) surprises++;
    process.stdout.write(`${result.output}${verdict(part, result.isAsShown)}\n`);
  }
  process.stdout.write(
    surprises === 0 ? 'The end: everything was as described.\n' : `${surprises} steps went otherwise.\n`,
  );
  return surprises === 0 ? 0 : 1;
}

function list(): number {
  for (const file of lessonFiles()) process.stdout.write(`${file.number}. ${readLesson(file).title}\n`);
  return 0;
}

function optionsOf(args: readonly string[]): { wanted: string | undefined; isHelp: boolean; asksFirst: boolean } {
  const options = {
    yes: { type: 'boolean', short: 'y', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  } as const;
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    return { wanted: positionals[0], isHelp: values.help, asksFirst: !values.yes && process.stdin.isTTY };
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${HELP}`);
  }
}

function promptOf({ place }: Step): string {
  return place === undefined ? '$ ' : `${place}# `;
}

async function ask(): Promise<Choice> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await lines.question('(Enter runs it, s skips it, q ends the lesson) ');
  lines.close();
  return answer.startsWith('q') ? 'quit' : answer.startsWith('s') ? 'skip' : 'run';
}

function verdict({ shown }: Step, isAsShown: boolean): string {
  if (isAsShown) return '  ✓ as described\n';
  return `  ✗ not as described. The lesson shows:\n${shown.map((line) => `    ${line}\n`).join('')}`;
}
