// `portolan lab chaos …`: breaks the running lab, and mends it.
import { parseArgs } from 'node:util';
import { FAULT_KINDS } from '../lab/chaos/faults.ts';
import { askLab } from '../lab/control.ts';
import type { ChaosRequest } from '../lab/work.ts';
import { inMilliseconds, parseDuration } from '../lib/duration.ts';
import { runningLab } from './lab-running.ts';
import { UsageError } from './usage-error.ts';

const HELP = `Breaks the running lab, and mends it.

Usage: portolan lab chaos KIND [NODE|POD] [--for DURATION]
       portolan lab chaos random --for DURATION

${Object.entries(FAULT_KINDS)
  .map(
    ([name, { about, target }]) =>
      `  ${`${name} ${target === 'none' ? '' : `[${target.toUpperCase()}]`}`.padEnd(18)} ${about}`,
  )
  .join('\n')}
  ${'random'.padEnd(18)} one of these after the other, for 1m if not told otherwise
  ${'heal'.padEnd(18)} undo what lasts: drains, cut cables, a stopped API server
  ${'list'.padEnd(18)} what is broken now, and this text

Without a target any will do. With --for, what lasts is undone after a while: 30s, 10m.
`;

export async function run(args: readonly string[]): Promise<number> {
  const request = requestOf(args);
  if (request.kind === 'help') {
    process.stdout.write(HELP);
    return 0;
  }
  const { folder } = await runningLab();
  if (request.kind === 'list') process.stdout.write(`${HELP}\n`);
  for await (const line of askLab<string>(folder, 'chaos', request)) process.stdout.write(`${line}\n`);
  return 0;
}

function requestOf(args: readonly string[]): ChaosRequest {
  const options = { for: { type: 'string' }, help: { type: 'boolean', short: 'h', default: false } } as const;
  let parsed: ReturnType<typeof parse>;
  const parse = () => parseArgs({ args: [...args], options, allowPositionals: true });
  try {
    parsed = parse();
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${HELP}`);
  }
  const { values, positionals } = parsed;
  const [kind = values.for ? 'random' : 'list', target] = positionals;
  return {
    kind: values.help ? 'help' : kind,
    ...(target !== undefined && { target }),
    ...(values.for !== undefined && { forMs: milliseconds(values.for) }),
  };
}

function milliseconds(text: string): number {
  const parsed = parseDuration(text);
  if ('problem' in parsed) throw new UsageError(`--for ${text}: ${parsed.problem}`);
  return inMilliseconds(parsed.duration);
}
