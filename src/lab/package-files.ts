// Where this package's own files are: the same from the source and from the bundle.
import { existsSync } from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A file of the package, by its path from the package's root. */
export function packageFile(...path: readonly string[]): string {
  return join(root, ...path);
}

/** The program itself, as an argument for Node. */
export function mainProgram(): string {
  return extname(import.meta.url) === '.ts' ? packageFile('src/cli/main.ts') : packageFile('dist/portolan.mjs');
}

/** What to type to call this program again: its name, or the way to it in a checkout. */
export function calledAs(): string {
  if (!existsSync(packageFile('.git'))) return 'portolan';
  const way = relative(process.cwd(), packageFile('bin/portolan'));
  return way.startsWith('.') || way.startsWith('/') ? way : `./${way}`;
}

const root = findRoot(dirname(fileURLToPath(import.meta.url)));

function findRoot(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder;
  if (folder === dirname(folder)) throw new Error('this package has lost its package.json');
  return findRoot(dirname(folder));
}
