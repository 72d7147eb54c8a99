// In: a command. Out: the same command running in a private corner of the machine, with its own mounts, network and
// process numbers, where it may make namespaces and rules as root does. It needs no root: an ordinary user gets a user
// namespace. Everything in the corner dies with the command's first process, and that dies with us, even by SIGKILL.
//
// By hand: node src/lab/sandbox.ts -- bash
import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const INSIDE = 'PORTOLAN_SANDBOX';

/** An ordinary user is root in a user namespace alone, where the kernel grants less than it does to the real one. */
export type User = 'root' | 'ordinary';

// `ip netns` keeps its names in /run/netns and iptables its lock in /run, so /run must be ours. What /sys holds belongs to
// the whole machine (the size of the table of connections, for one), so it may only be read.
const PREPARE = [
  'mount -t tmpfs tmpfs /run',
  'mkdir /run/netns',
  'mount -o remount,bind,ro /sys',
  'ip link set lo up',
  'exec "$@"',
].join(' && ');

/** Whether this process already runs in a sandbox. */
export function isInSandbox(): boolean {
  return process.env[INSIDE] === '1';
}

/** Starts a command in a sandbox. When it ends, all that it started has ended too. */
export function spawnInSandbox(argv: readonly string[], options: SpawnOptions = {}): ChildProcess {
  const [program, ...args] = sandboxArgv(argv, user());
  return spawn(program!, args, { ...options, env: sandboxEnv(options.env ?? process.env) });
}

/** Starts the calling file again in a sandbox and ends with its status; inside, does nothing. As the first statement
 *  of a test file it gives that file a private machine, and its tests are reported as ever: `node --test` reads them from
 *  the output and settings that both processes share. */
export function continueInSandbox(fileUrl: string, as: User = user()): void {
  if (isInSandbox()) return;
  const again = [process.execPath, ...process.execArgv, fileURLToPath(fileUrl), ...process.argv.slice(2)];
  process.exit(runInSandbox(again, as));
}

function runInSandbox(argv: readonly string[], as: User = user()): number {
  const [program, ...args] = sandboxArgv(argv, as);
  const { status, error } = spawnSync(program!, args, { stdio: 'inherit', env: sandboxEnv(process.env) });
  if (error) throw error;
  return status ?? 1;
}

function user(): User {
  return process.getuid?.() === 0 ? 'root' : 'ordinary';
}

function sandboxArgv(argv: readonly string[], as: User): string[] {
  // The user namespace comes first: files under /proc/net belong to root only where root was known before the network was.
  const asRoot = as === 'root' ? [] : ['unshare', '--user', '--map-root-user'];
  const apart = ['unshare', '--mount', '--net', '--pid', '--mount-proc', '--fork', '--kill-child'];
  // setpriv ties unshare to our life, --kill-child ties the command to unshare's.
  return ['setpriv', '--pdeathsig', 'KILL', ...asRoot, ...apart, 'sh', '-c', PREPARE, 'sh', ...argv];
}

/** An ordinary user's PATH may lack the folders of ip, iptables and nft. */
function sandboxEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, [INSIDE]: '1', PATH: `${env.PATH ?? '/usr/bin:/bin'}:/usr/sbin:/sbin` };
}

if (import.meta.main) {
  const argv = process.argv.slice(2);
  process.exit(runInSandbox(argv[0] === '--' ? argv.slice(1) : argv));
}
