// A kernel with IPVS and its modules, from Debian's packages: unpacked into .cache, never installed. In: nothing. Out: where it is,
// or why it cannot be had.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface TestKernel {
  readonly version: string;
  readonly image: string;
  /** Holds lib/modules/<version>, with the index that modprobe reads. */
  readonly root: string;
}

const CACHE = fileURLToPath(new URL('../../.cache/vm/', import.meta.url));
const META_PACKAGE = 'linux-image-amd64'; // the `cloud` kernels have no 9p

export function testKernel(): TestKernel | { readonly missing: string } {
  if (process.arch !== 'x64') return { missing: `the test machine is an x86-64 one, and this is ${process.arch}` };
  return cached() ?? fetched();
}

function cached(): TestKernel | undefined {
  const root = join(CACHE, 'kernel');
  const boot = join(root, 'boot');
  const image = existsSync(boot) ? readdirSync(boot).find((name) => name.startsWith('vmlinuz-')) : undefined;
  if (!image) return undefined;
  return { version: image.slice('vmlinuz-'.length), image: join(boot, image), root };
}

function fetched(): TestKernel | { readonly missing: string } {
  const folder = join(CACHE, `fetching-${process.pid}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  try {
    const name = packageName() ?? (run('apt-get', ['update', '-q'], folder).status === 0 ? packageName() : undefined);
    if (!name) return { missing: `this system's package lists do not have ${META_PACKAGE}` };
    const download = run('apt-get', ['download', name], folder);
    const deb = readdirSync(folder).find((file) => file.endsWith('.deb'));
    if (!deb) return { missing: `apt-get download ${name}: ${download.stderr.trim()}` };
    const unpacked = run('dpkg-deb', ['-x', deb, 'kernel'], folder);
    if (unpacked.status !== 0) return { missing: `dpkg-deb -x ${deb}: ${unpacked.stderr.trim()}` };
    const version = name.replace(/^linux-image-/, '');
    const indexed = run('busybox', ['depmod', '-b', join(folder, 'kernel'), version], folder);
    if (indexed.status !== 0) return { missing: `depmod of ${version}: ${indexed.stderr.trim()}` };
    renameSync(join(folder, 'kernel'), join(CACHE, 'kernel'));
    return cached()!;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `linux-image-6.1.0-13-amd64`, which the package of the constant name stands for. */
function packageName(): string | undefined {
  const { stdout } = run('apt-cache', ['depends', META_PACKAGE], CACHE);
  return /Depends: (linux-image-\S+)/.exec(stdout)?.[1];
}

function run(program: string, args: readonly string[], cwd: string) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8' });
  return { status, stdout: stdout ?? '', stderr: error ? error.message : stderr };
}
