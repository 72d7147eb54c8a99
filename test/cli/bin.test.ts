// Which program bin/portolan runs: the bundle of a package; of a checkout, the bundle unless its source is newer.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const BIN = fileURLToPath(new URL('../../bin', import.meta.url));
const home = mkdtempSync(join(tmpdir(), 'portolan-bin-'));
after(() => rmSync(home, { recursive: true, force: true }));

const SAYS_HOW = 'process.execArgv.filter((flag) => flag.includes("opt"))';

beforeEach(() => {
  rmSync(home, { recursive: true });
  put('package.json', '{}', 1);
  put('console/main.ts', '', 1);
  put('src/cli/main.ts', `console.log('source', ...${SAYS_HOW})`, 1);
  cpSync(BIN, join(home, 'bin'), { recursive: true, verbatimSymlinks: true });
  mkdirSync(join(home, 'node_modules/.bin'), { recursive: true });
  symlinkSync(process.execPath, join(home, 'node_modules/.bin/node'));
});

/** As if it was written so many minutes from now: folders bear the time of now. */
function put(path: string, text: string, minutes: number): void {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  const time = new Date(Date.now() + minutes * 60_000);
  utimesSync(file, time, time);
}

function build(minutes: number): void {
  put('dist/portolan.mjs', `console.log('bundle', ...${SAYS_HOW})`, minutes);
}

function run(program: string, ...args: string[]): string {
  return execFileSync(join(home, 'bin', program), args, { encoding: 'utf8' }).trim();
}

test('a checkout without a bundle runs its source', () => {
  mkdirSync(join(home, '.git'));
  assert.equal(run('portolan'), 'source');
});

test('a checkout runs its bundle until its source is newer', () => {
  mkdirSync(join(home, '.git'));
  build(2);
  assert.equal(run('portolan'), 'bundle');
  put('src/lib/new.ts', '', 3);
  assert.equal(run('portolan'), 'source');
  build(4);
  assert.equal(run('portolan'), 'bundle');
  put('console/main.ts', '', 5);
  assert.equal(run('portolan'), 'source');
});

test('a package runs its bundle, whatever the times of its files', () => {
  build(0);
  assert.equal(run('portolan'), 'bundle');
});

test('the daemon starts without optimising compilers, other commands with them', () => {
  build(2);
  assert.equal(run('kube-proxy', '--version'), 'bundle --no-opt');
  assert.equal(run('portolan', 'proxy'), 'bundle --no-opt');
  assert.equal(run('portolan', 'verify'), 'bundle');
});
