// Builds the bundle: dist/portolan.mjs, and beside it the pieces it loads when they are asked for. A bundle starts faster than the source,
// needs less memory, and works under node_modules. Arguments: another folder; --over: what is there stays, for programs that run
// from it and will ask for their pieces.
import { cpSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const target = process.argv.slice(2).find((argument) => !argument.startsWith('--')) ?? join(root, 'dist');

/** Programs by their name in the bundle. All but the first are started as processes by a module that expects them beside it. */
const PROGRAMS = {
  portolan: 'src/cli/main.ts',
  inside: 'src/lab/network/inside.ts',
  'check-trials': 'src/cli/check-trials.ts',
  'relay-thread': 'src/modes/userspace/relay-thread.ts',
  'self-check-worker': 'src/daemon/self-check-worker.ts',
};

if (!process.argv.includes('--over')) rmSync(target, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: PROGRAMS,
  outdir: target,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  splitting: true, // what is imported lazily stays a file of its own, loaded when it is needed
  format: 'esm',
  platform: 'node',
  target: 'node24',
  legalComments: 'none',
  minifySyntax: true,
  logLevel: 'warning',
  // Its native half is found through node_modules, so it stays a package.
  external: ['koffi'],
  // The build of yaml that is made of modules: the other asks for `require`, which a bundle of modules does not have.
  alias: { yaml: join(root, 'node_modules/yaml/browser/index.js') },
});
// The console's page: one program for browsers, and its other files as they are.
await build({
  absWorkingDir: root,
  entryPoints: { main: 'console/main.ts' },
  outdir: join(target, 'console'),
  bundle: true,
  format: 'esm',
  platform: 'browser',
  target: 'es2023',
  legalComments: 'none',
  minify: true,
  logLevel: 'warning',
});
for (const file of ['index.html', 'console.css', 'rose.svg'])
  cpSync(join(root, 'console', file), join(target, 'console', file));
cpSync(join(root, 'LICENSE'), join(target, 'LICENSE'));
