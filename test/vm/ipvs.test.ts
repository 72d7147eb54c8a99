// IPVS mode against a real kernel: here where this kernel has IPVS, else in a machine whose kernel has it. Both run the same tests
// (inside/), and each of them is reported here.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { spawnInSandbox } from '../../src/lab/sandbox.ts';
import { type InsideReport, NOTE, REPORT } from './inside/reporter.ts';
import { machine, runInMachine } from './machine.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TIMEOUT_MS = 25 * 60_000; // on a machine that has other things to do
/** The agent as it is shipped, for the tests inside: from source it would start five times slower there. */
const BUNDLE = join(ROOT, '.cache/vm', `bundle-${process.pid}`);
const COMMAND = [
  'env',
  `PORTOLAN_BUNDLE=${join(BUNDLE, 'portolan.mjs')}`,
  process.execPath,
  '--disable-warning=ExperimentalWarning',
  '--test-force-exit',
  '--test-reporter=./test/vm/inside/reporter.ts',
  'test/vm/inside/all.ts',
];

test('IPVS mode', async (t) => {
  process.chdir(ROOT);
  const missing = spawnSync('sh', ['-c', 'PATH=$PATH:/usr/sbin:/sbin command -v ipvsadm']).status !== 0;
  if (missing) return t.skip('ipvsadm is not installed (Debian package ipvsadm)');
  const built = spawnSync(process.execPath, ['scripts/build.ts', BUNDLE], { encoding: 'utf8' });
  assert.equal(built.status, 0, built.stderr);
  t.after(() => rmSync(BUNDLE, { recursive: true, force: true }));
  const run = (await hasIpvs()) ? await runHere() : await runThere(t);
  if ('missing' in run) return t.skip(`this kernel has no IPVS, and no machine with one can be had: ${run.missing}`);

  const told = (mark: string): string[] =>
    run.output
      .split('\n')
      .flatMap((line) => (line.includes(mark) ? [line.slice(line.indexOf(mark) + mark.length)] : []));
  for (const note of told(NOTE)) t.diagnostic(note.trimEnd());
  const reports = told(REPORT).map((line) => JSON.parse(line) as InsideReport);
  for (const { name, isOk, isSuite, error } of reports) {
    if (isSuite) continue;
    await t.test(name, () => assert.ok(isOk, error));
  }
  assert.ok(
    reports.some(({ isSuite }) => !isSuite),
    `no test ran:\n${run.output.slice(-2000)}`,
  );
  assert.equal(run.status, 0, run.output.slice(-2000));
});

/** Asking in a sandbox, so that no question is put to the host's own tables. */
async function hasIpvs(): Promise<boolean> {
  const child = spawnInSandbox(['ipvsadm', '-Ln'], { stdio: 'ignore' });
  const [status] = await once(child, 'exit');
  return status === 0;
}

async function runHere(): Promise<{ output: string; status: number | undefined }> {
  const child = spawnInSandbox(COMMAND, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout!.on('data', (data: Buffer) => {
    output += data;
  });
  const [status] = (await once(child, 'close')) as [number | null];
  return { output, status: status ?? undefined };
}

async function runThere(t: TestContext): Promise<{ output: string; status: number | undefined } | { missing: string }> {
  const ready = machine();
  if ('missing' in ready) return ready;
  for (let boots = 1; ; boots++) {
    const { status, output, console } = await runInMachine(ready, COMMAND, { timeoutMs: TIMEOUT_MS });
    // Now and then V8 fails in an emulated machine while Node starts. A crash in or after a test is not excused.
    const hasCrashed = status !== undefined && status > SIGNALLED && !output.includes(REPORT);
    if (!hasCrashed || boots === MOST_BOOTS) return { status, output: output || console };
    t.diagnostic('Node crashed at its start in the emulated machine, which is booted again');
  }
}

/** Beyond this a shell tells which signal ended a program. */
const SIGNALLED = 128;
const MOST_BOOTS = 3;
