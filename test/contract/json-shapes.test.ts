// docs/json-shapes.md against what the commands print: every field is documented, and what is not marked as optional is there.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { GOLDEN_BASE, GOLDEN_NODES } from '../support/golden.ts';
import { FAULTY_CLUSTER } from '../support/verify.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = mkdtempSync(join(tmpdir(), 'portolan-shapes-'));
after(() => rmSync(FOLDER, { recursive: true }));

const CLUSTER = join(FOLDER, 'cluster.json');
writeFileSync(CLUSTER, JSON.stringify({ kind: 'List', items: [...GOLDEN_NODES, ...GOLDEN_BASE, ...FAULTY_CLUSTER] }));
const SITUATION = ['-f', CLUSTER, '--node', 'n1', '--cluster-cidr', '10.244.0.0/16'];

function portolan(...args: readonly string[]): string {
  const { stdout, stderr } = spawnSync(join(ROOT, 'bin/portolan'), [...args, ...SITUATION], { encoding: 'utf8' });
  assert.notEqual(stdout, '', stderr);
  return stdout;
}

/** Rules in which a share is wrong, a rule is missing, and one is too many. */
function damagedRules(): string {
  const rules = portolan('render')
    .replace('0.3333333333', '0.2')
    .replace(/^-A KUBE-MARK-MASQ.*\n/m, '');
  const path = join(FOLDER, 'rules');
  writeFileSync(path, rules.replace('\nCOMMIT\n*nat', '\n-A KUBE-FORWARD -j DROP\nCOMMIT\n*nat'));
  return path;
}

/** IPVS mode's state, in which a real server is missing. */
function damagedIpvs(): string {
  const path = join(FOLDER, 'ipvs');
  writeFileSync(path, portolan('render', '--mode', 'ipvs').replace(/^-a -t 10\.96\.1\.1:80 .*\n/m, ''));
  return path;
}

const COMMANDS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  trace: [
    ['trace', '--from', 'outside', '--to', 'plain'],
    ['trace', '--from', '10.244.1.11', '--to', 'sticky', '--mode', 'nftables'],
    ['trace', '--from', 'node', '--to', 'empty'],
    ['trace', '--from', 'pod', '--to', '192.0.2.9:99/udp'],
    ['trace', '--from', 'outside', '--to', 'sticky', '--mode', 'ipvs'],
    ['trace', '--from', 'outside', '--to', 'sticky', '--mode', 'userspace'],
  ],
  verify: [['verify'], ['verify', '--rules', damagedRules()], ['verify', '--rules', damagedIpvs(), '--mode', 'ipvs']],
  diff: [['diff', '--rules', damagedRules()]],
  explain: [
    ['explain', 'service', 'plain'],
    ['explain', 'service', 'guarded', '--mode', 'nftables'],
    ['explain', 'service', 'guarded', '--mode', 'ipvs'],
    ['explain', 'service', 'guarded', '--mode', 'userspace'],
  ],
  doctor: [
    ['doctor', 'plain'],
    ['doctor', 'empty'],
  ],
};

const documented = documentedPaths(readFileSync(join(ROOT, 'docs/json-shapes.md'), 'utf8'));

for (const [name, commands] of Object.entries(COMMANDS)) {
  test(`what ${name} prints is documented`, () => {
    const fields = documented.get(name)!;
    for (const command of commands) {
      const found = new Set(pathsIn(JSON.parse(portolan(...command, '-o', 'json')) as unknown, ''));
      const unknown = [...found].filter((path) => !fields.has(path) && !fields.has(path.replace(/\[\]\..*/, '[]')));
      assert.deepEqual(unknown, [], command.join(' '));
      const missing = [...fields].filter(([path, isOptional]) => !isOptional && !found.has(path)).map(([path]) => path);
      assert.deepEqual(missing, [], command.join(' '));
    }
  });
}

/** By command: path, and whether it may be absent. */
function documentedPaths(markdown: string): ReadonlyMap<string, ReadonlyMap<string, boolean>> {
  const sections = markdown.split(/^## /m).slice(1);
  return new Map(
    sections.map((section) => {
      const rows = [...section.matchAll(/^\| `([^`]+)` \|/gm)].map((match) => match[1]!);
      return [
        section.slice(0, section.indexOf('\n')),
        new Map(rows.map((path) => [path.replace('?', ''), path.endsWith('?')])),
      ];
    }),
  );
}

function pathsIn(value: unknown, path: string): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((element) => pathsIn(element, `${path}[]`));
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([key, inner]) => pathsIn(inner, path === '' ? key : `${path}.${key}`));
}
