// Runs a step of a lesson for real. In: the step and the names known so far. Out: what it showed, and whether that is what
// the lesson says.
import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import type { Step } from './lesson.ts';
import { matchOutput, type Names, renamed } from './match.ts';

export interface StepResult {
  readonly command: string;
  readonly output: string;
  readonly isAsShown: boolean;
  readonly names: Names;
}

/** The command that runs a shell line in a place of the lab; undefined is one's own terminal. */
export type ShellIn = (place: string | undefined, line: string) => Promise<ShellCommand>;

export interface ShellCommand {
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

// The cluster takes a moment to follow a change, and so does a person between two commands.
const PATIENCE_MS = 30_000;
const PAUSE_MS = 300;
const CHANGES =
  /\bkubectl (?:-n \S+ )?(?:apply|create|expose|scale|delete|label|annotate|patch|run|set|edit|drain|cordon)\b|\blab (?:chaos|mode)\b/;

/** A command that only looks is asked again until it shows what it should, or patience ends. */
export async function runStep(step: Step, names: Names, shellIn: ShellIn): Promise<StepResult> {
  const command = renamed(step.command, names);
  const deadline = Date.now() + (CHANGES.test(command) ? 0 : PATIENCE_MS);
  for (;;) {
    const output = await outputOf(await shellIn(step.place, command));
    const known = matchOutput(step.shown, output, names);
    if (known || Date.now() > deadline)
      return { command, output, isAsShown: known !== undefined, names: known ?? names };
    await delay(PAUSE_MS);
  }
}

/** How a shell finds out whether a machine has what some steps need. */
const CHECKS: Readonly<Record<string, string>> = { ipvs: 'ipvsadm --list > /dev/null 2>&1 && echo yes' };

/** Asked in a node, whose kernel is that of all. */
export async function isThere(needed: string, shellIn: ShellIn): Promise<boolean> {
  return (await outputOf(await shellIn('node1', CHECKS[needed]!))).trim() === 'yes';
}

/** What a terminal would show: both streams, as they come. */
function outputOf({ argv: [program, ...args], env }: ShellCommand): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program!, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (data: Buffer) => chunks.push(data));
    child.stderr.on('data', (data: Buffer) => chunks.push(data));
    child.on('error', reject);
    child.on('close', () => resolve(Buffer.concat(chunks).toString()));
  });
}
