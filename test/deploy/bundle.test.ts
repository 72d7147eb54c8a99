// The bundle, laid out as the image and the npm package lay it out, away from the source: it starts, finds its native half,
// and brings the programs that its modules start.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const home = mkdtempSync(join(tmpdir(), 'portolan-bundle-'));
const image = join(home, 'opt/portolan');

before(() => {
  execFileSync(process.execPath, [join(ROOT, 'scripts/build.ts'), join(image, 'dist')]);
  for (const path of ['bin', 'package.json', 'node_modules/koffi', 'node_modules/@koromix']) {
    cpSync(join(ROOT, path), join(image, path), { recursive: true });
  }
  mkdirSync(join(image, 'node_modules/.bin'));
  symlinkSync(process.execPath, join(image, 'node_modules/.bin/node'));
  mkdirSync(join(home, 'usr/local/bin'), { recursive: true });
  for (const name of ['kube-proxy', 'portolan'])
    symlinkSync(join(image, 'bin', name), join(home, 'usr/local/bin', name));
});
after(() => rmSync(home, { recursive: true, force: true }));

test('named kube-proxy, it is the daemon', () => {
  const answer = execFileSync(join(home, 'usr/local/bin/kube-proxy'), ['--version'], { encoding: 'utf8' });
  assert.match(answer, /^Kubernetes v\d+\.\d+\.\d+\n$/);
});

test('named portolan, it knows its commands', () => {
  const answer = execFileSync(join(home, 'usr/local/bin/portolan'), ['help'], { encoding: 'utf8' });
  assert.match(answer, /Usage: portolan COMMAND/);
});

test('the native half of koffi is found, and talks to the kernel', () => {
  const argv = ['--user', '--map-root-user', '--net', process.execPath, join(image, 'dist/check-trials.mjs')];
  const answer = execFileSync('unshare', argv, {
    encoding: 'utf8',
    env: { ...process.env, XTABLES_LOCKFILE: '/dev/null' },
  });
  const trials = JSON.parse(answer) as { nftables: Record<string, string>; conntrack?: string };
  assert.deepEqual(trials.nftables, {});
  assert.equal(trials.conntrack, undefined);
});

test('programs that modules expect beside them are there', () => {
  const expected = globSync('src/**/*.ts', { cwd: ROOT }).flatMap((path) =>
    [...readFileSync(join(ROOT, path), 'utf8').matchAll(/`\.\/([\w-]+)\$\{extname\(import\.meta\.url\)\}`/g)].map(
      (match) => `${match[1]}.mjs`,
    ),
  );
  assert.ok(expected.includes('check-trials.mjs'));
  const there = readdirSync(join(image, 'dist'));
  assert.deepEqual(
    expected.filter((name) => !there.includes(name)),
    [],
  );
});

test('what the image copies from the build exists, and it brings the programs of every mode', () => {
  const dockerfile = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8');
  const copied = [...dockerfile.matchAll(/^COPY --from=build (.+) \S+$/gm)].flatMap((match) => match[1]!.split(' '));
  assert.deepEqual(copied.map((path) => basename(path)).sort(), [
    'LICENSE',
    'bin',
    'dist',
    'node_modules',
    'package.json',
  ]);
  for (const name of ['iptables', 'ipset', 'kmod', 'nftables'])
    assert.match(dockerfile, new RegExp(`install .*\\b${name}\\b`));
  assert.match(dockerfile, /ln -s \/opt\/portolan\/bin\/kube-proxy .* \/usr\/local\/bin\//);
});
