// Runs the benchmarks: all of them, or those named as arguments (`npm run bench -- plan`).
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
process.chdir(root);
process.env.PATH = `${join(root, 'node_modules/.bin')}:${process.env.PATH}:/usr/sbin:/sbin`;

// A file that is named after another, as api-memory-server after api-memory, is a part of that one.
const names = globSync('bench/*.ts').map((file) => basename(file, '.ts'));
const whole = names.filter((name) => !names.some((other) => name.startsWith(`${other}-`)));
const files = new Map(whole.map((name) => [name, `bench/${name}.ts`]));
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !files.has(name));
if (unknown.length > 0) {
  console.error(`no such benchmark: ${unknown.join(', ')} (there are ${[...files.keys()].sort().join(', ')})`);
  process.exit(2);
}

// One process each, so that none runs in the heap that another has filled.
for (const name of wanted.length > 0 ? wanted : [...files.keys()].sort()) {
  console.log(`\n== ${name}`);
  const { status } = spawnSync('node', ['--disable-warning=ExperimentalWarning', '--expose-gc', files.get(name)!], {
    stdio: 'inherit',
  });
  if (status !== 0) process.exitCode = 1;
}
