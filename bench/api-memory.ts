// How much memory and time does it take to read a cluster's Services and EndpointSlices, and to hold them?
// A fresh process reads them from a server in another process, once for each way of reading; the figures are of that process
// alone. It runs as a CommonJS bundle: running TypeScript directly costs some 35 MB for the compiler, and `node:http` imported as
// an ES module 8 MB for a fetch client that nobody asked for. A smaller young generation is the other saving shown here.
// Arguments: the sizes (1000 10000).
import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import type { Figures } from './api-memory-reader.ts';

const sizes = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [1000, 10_000];
const folder = mkdtempSync(join(tmpdir(), 'portolan-bench-'));
const bundle = join(folder, 'reader.cjs');
const source = join(import.meta.dirname, 'api-memory-reader.ts');
try {
  await build({
    entryPoints: [source],
    outfile: bundle,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    logLevel: 'error',
  });
  const rows: object[] = [];
  for (const n of sizes) {
    for (const way of ['stream', 'list']) {
      for (const flag of ['', '--max-semi-space-size=1']) {
        rows.push({ services: n, slices: n, way, flag, ...(await measure(way, n, flag)) });
      }
    }
  }
  console.table(rows);
} finally {
  rmSync(folder, { recursive: true });
}

async function measure(way: string, n: number, flag: string): Promise<Figures> {
  const server = fork(join(import.meta.dirname, 'api-memory-server.ts'), [way, String(n)]);
  try {
    const url = await message<string>(server);
    return await message<Figures>(fork(bundle, [url], { execArgv: ['--expose-gc', ...(flag === '' ? [] : [flag])] }));
  } finally {
    server.kill();
  }
}

function message<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    child.once('message', (value) => resolve(value as T));
    child.once('exit', (code) => reject(new Error(`the process ended with ${code}`)));
  });
}
