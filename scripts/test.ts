// Runs the tests: all of them, or the parts named as arguments (check unit cli kernel packets lab vm browser).
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
process.chdir(root);
process.env.PATH = `${join(root, 'node_modules/.bin')}:${process.env.PATH}:/usr/sbin:/sbin`;

interface Part {
  readonly about: string;
  readonly run: () => boolean;
}

const parts: Record<string, Part> = {
  check: {
    about: 'formatting, lint and types',
    run: () =>
      command('biome', 'check', '.') && command('tsc', '--noEmit') && command('tsc', '--noEmit', '-p', 'console'),
  },
  unit: {
    about: 'functions, golden files, properties: needs nothing',
    run: () => tests([], 'src/**/*.test.ts', 'test/{golden,contract,properties,agent}/**/*.test.ts'),
  },
  cli: {
    about: 'commands as users type them, and the examples in the documentation',
    run: () => tests([], 'test/{cli,docs}/**/*.test.ts'),
  },
  kernel: {
    about: 'a real kernel, in network namespaces',
    run: () => tests([], 'test/{kernel,deploy}/**/*.test.ts'),
  },
  packets: {
    about: 'real packets through real rules, in network namespaces',
    run: () => tests([], 'test/packets/**/*.test.ts'),
  },
  lab: {
    about: 'the lab, its lessons, and real kubectl',
    run: () => tests([], 'test/{kubectl,lab,lessons}/**/*.test.ts'),
  },
  vm: {
    about: 'IPVS, in a virtual machine where this kernel has none',
    run: () => tests([], 'test/vm/**/*.test.ts'),
  },
  browser: {
    about: 'the console in a real browser',
    run: () => tests([], 'test/browser/**/*.test.ts'),
  },
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in parts));
if (unknown.length > 0) {
  console.error(`no such part: ${unknown.join(', ')} (there are ${Object.keys(parts).join(', ')})`);
  process.exit(2);
}

const failed: string[] = [];
for (const [name, part] of Object.entries(parts)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  console.log(`\n== ${name}: ${part.about}`);
  const started = Date.now();
  if (!part.run()) failed.push(name);
  console.log(`== ${name} took ${((Date.now() - started) / 1000).toFixed(1)} s`);
}
if (failed.length > 0) {
  console.error(`\nfailed: ${failed.join(', ')}`);
  process.exit(1);
}

function tests(options: readonly string[], ...patterns: string[]): boolean {
  const files = globSync(patterns).sort();
  if (files.length === 0) return true;
  return command('node', '--disable-warning=ExperimentalWarning', '--test', ...options, ...files);
}

function command(program: string, ...args: readonly string[]): boolean {
  const result = spawnSync(program, args, { stdio: 'inherit' });
  if (result.error) console.error(`${program}: ${result.error.message}`);
  return result.status === 0;
}
