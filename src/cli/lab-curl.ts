// `portolan lab curl --from POD URL --times N`: who answers, and how often.
import { parseArgs } from 'node:util';
import { askLab } from '../lab/control.ts';
import type { CurlAnswer } from '../lab/curl.ts';
import { barChart } from '../lab/screen/bars.ts';
import { runningLab } from './lab-running.ts';
import { UsageError } from './usage-error.ts';

const USAGE = 'lab curl [--from NODE|POD|client] [--times N] URL';

export async function run(args: readonly string[]): Promise<number> {
  const { from, times, url } = requestOf(args);
  const { folder } = await runningLab();
  const counts = new Map<string, number>();
  let failures = 0;
  let last: CurlAnswer | undefined;
  for await (const answer of askLab<CurlAnswer>(folder, 'curl', { from, times, url })) {
    const name = 'error' in answer ? `no answer: ${answer.error}` : answererOf(answer);
    if ('error' in answer) failures++;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    last = answer;
  }
  if (times === 1 && last && 'body' in last) process.stdout.write(last.body);
  else process.stdout.write(barChart(counts));
  return failures > 0 ? 1 : 0;
}

function answererOf({ status, servedBy = 'somebody' }: Exclude<CurlAnswer, { error: string }>): string {
  return status === 200 ? servedBy : `${servedBy}: ${status}`;
}

function requestOf(args: readonly string[]): { from: string; times: number; url: string } {
  const options = { from: { type: 'string', default: 'client' }, times: { type: 'string', default: '1' } } as const;
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    const [given = '', ...more] = positionals;
    const url = /^\w+:\/\//.test(given) ? given : `http://${given}`;
    const times = Number(values.times);
    if (more.length > 0 || !URL.canParse(url) || !Number.isInteger(times) || times < 1) throw new UsageError(USAGE);
    return { from: values.from, times, url };
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError(`${(error as Error).message}\n${USAGE}`);
  }
}
