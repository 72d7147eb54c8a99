// A virtual machine whose kernel has IPVS, for hosts whose kernel has not. It sees this machine's files, read-only below a
// layer that is forgotten, runs one command as root, and is gone. In: a command. Out: its output and exit code.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ArchiveFile, archive } from './cpio.ts';
import { type TestKernel, testKernel } from './kernel.ts';

export interface Machine {
  readonly kernel: TestKernel;
  readonly qemu: string;
  readonly busybox: string;
}

export interface MachineRun {
  /** Undefined if the machine did not come to an end by itself. */
  readonly status: number | undefined;
  readonly output: string;
  readonly console: string;
}

/** What is needed before the files of this machine can be seen; everything else is loaded from them on demand. */
const EARLY_MODULES = [
  'drivers/virtio/virtio',
  'drivers/virtio/virtio_ring',
  'drivers/virtio/virtio_pci_legacy_dev',
  'drivers/virtio/virtio_pci_modern_dev',
  'drivers/virtio/virtio_pci',
  'fs/netfs/netfs',
  'fs/fscache/fscache',
  'net/9p/9pnet',
  'net/9p/9pnet_virtio',
  'fs/9p/9p',
  'fs/overlayfs/overlay',
];

/** What rules need, loaded in one go: where the kernel asks for one at a time, each takes seconds in an emulated machine. */
const RULE_MODULES = [
  ...`chain_nat compat connlimit ct fib_ipv4 fib_ipv6 hash limit log masq nat numgen objref quota redir reject reject_ipv4 reject_ipv6`
    .split(' ')
    .map((name) => `nft_${name}`),
  ...`addrtype comment conntrack mark MASQUERADE nat nfacct physdev recent REDIRECT set statistic tcpudp`
    .split(' ')
    .map((name) => `xt_${name}`),
  ...`bitmap_port hash_ip hash_ipport hash_ipportip hash_ipportnet`.split(' ').map((name) => `ip_set_${name}`),
  ...['ipt_REJECT', 'ip6t_REJECT', 'nf_conntrack_netlink'],
];

/** On a busy host an emulated timer may tick late, which the kernel would take for a broken one. */
const KERNEL_OPTIONS = 'console=ttyS0 quiet panic=-1 no_timer_check';

/** Where the machine sees the folder it shares with us for writing. */
const SHARED = '/run/machine';

export function machine(): Machine | { readonly missing: string } {
  const qemu = found('qemu-system-x86_64');
  if (!qemu) return { missing: 'qemu-system-x86_64 is not installed (Debian package qemu-system-x86)' };
  const busybox = found('busybox');
  if (!busybox || !isStatic(busybox)) {
    return { missing: 'a busybox that needs no libraries is not installed (Debian package busybox-static)' };
  }
  const kernel = testKernel();
  return 'missing' in kernel ? kernel : { kernel, qemu, busybox };
}

export async function runInMachine(
  { kernel, qemu, busybox }: Machine,
  command: readonly string[],
  options: { readonly timeoutMs: number; readonly onLine?: (line: string) => void },
): Promise<MachineRun> {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-machine-'));
  const shared = join(folder, 'shared');
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  // Whoever ends this process ends the machine with it; the folder would stay.
  const leave = (): void => {
    remove();
    process.exit(1);
  };
  process.once('SIGTERM', leave).once('SIGINT', leave);
  try {
    mkdirSync(shared);
    writeFileSync(join(folder, 'initramfs'), archive(initramfs(kernel, busybox)));
    copyFileSync(busybox, join(shared, 'modprobe')); // busybox is what it is called
    copyFileSync(busybox, join(shared, 'poweroff'));
    writeFileSync(join(shared, 'run'), runScript(command));
    const { console, isOver } = await boot(qemuArgs(kernel, folder, shared), qemu, options);
    const status = join(shared, 'status');
    return {
      status: isOver && existsSync(status) ? Number(readFileSync(status, 'utf8')) : undefined,
      output: existsSync(join(shared, 'output')) ? readFileSync(join(shared, 'output'), 'utf8') : '',
      console,
    };
  } finally {
    process.off('SIGTERM', leave).off('SIGINT', leave);
    remove();
  }
}

function qemuArgs({ image }: TestKernel, folder: string, shared: string): string[] {
  const share = (id: string, path: string, more: string): string[] => [
    '-fsdev',
    `local,id=${id},path=${path},security_model=none,multidevs=remap${more}`,
    '-device',
    `virtio-9p-pci,fsdev=${id},mount_tag=${id}`,
  ];
  return [
    ...['-machine', 'q35', '-accel', 'tcg,thread=multi', '-cpu', 'max', '-smp', '2', '-m', '2048'],
    ...['-nodefaults', '-no-user-config', '-nographic', '-no-reboot', '-serial', 'stdio'],
    ...['-kernel', image, '-initrd', join(folder, 'initramfs'), '-append', KERNEL_OPTIONS],
    ...share('files', '/', ',readonly=on'),
    ...share('shared', shared, ''),
  ];
}

/** Ends when the machine does, or with it when time is up or this process ends. */
async function boot(
  args: readonly string[],
  qemu: string,
  { timeoutMs, onLine }: { readonly timeoutMs: number; readonly onLine?: (line: string) => void },
): Promise<{ console: string; isOver: boolean }> {
  const child: ChildProcess = spawn('setpriv', ['--pdeathsig', 'KILL', qemu, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  let line = '';
  const hear = (data: Buffer): void => {
    text += data;
    const lines = (line + data).split('\n');
    line = lines.pop()!;
    for (const each of lines) onLine?.(each.trimEnd());
  };
  child.stdout!.on('data', hear);
  child.stderr!.on('data', hear);
  let isOver = true;
  const timer = setTimeout(() => {
    isOver = false;
    child.kill('SIGKILL');
  }, timeoutMs);
  const code = await new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve));
  clearTimeout(timer);
  return { console: text, isOver: isOver && code === 0 };
}

function initramfs(kernel: TestKernel, busybox: string): readonly ArchiveFile[] {
  const modules = `lib/modules/${kernel.version}/kernel`;
  return [
    ...['bin', 'modules', 'proc', 'sys', 'dev', 'files', 'layer', 'root'].map(
      (path): ArchiveFile => ({ path, isFolder: true }),
    ),
    { path: 'bin/busybox', content: readFileSync(busybox), isProgram: true },
    ...EARLY_MODULES.map((name): ArchiveFile => {
      const path = `modules/${name.slice(name.lastIndexOf('/') + 1)}.ko`;
      return { path, content: readFileSync(join(kernel.root, modules, `${name}.ko`)) };
    }),
    { path: 'init', content: Buffer.from(initScript(kernel)), isProgram: true },
  ];
}

/** Lays a forgetful layer over this machine's files and goes on in there. */
function initScript({ root }: TestKernel): string {
  const names = EARLY_MODULES.map((name) => name.slice(name.lastIndexOf('/') + 1));
  const p9 = 'trans=virtio,version=9p2000.L,msize=524288';
  return `#!/bin/busybox sh
set -e
for applet in mount mkdir insmod switch_root sh; do /bin/busybox ln -s busybox /bin/$applet; done
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
for module in ${names.join(' ')}; do insmod /modules/$module.ko; done
mount -t 9p -o ro,cache=loose,${p9} files /files
mount -t tmpfs -o size=75% tmpfs /layer
mkdir /layer/upper /layer/work
mount -t overlay -o lowerdir=/files,upperdir=/layer/upper,workdir=/layer/work overlay /root
mount -t tmpfs tmpfs /root/run
${process.cwd().startsWith('/tmp/') ? '' : 'mount -t tmpfs tmpfs /root/tmp'}
mkdir -p /root${SHARED} /root/lib/modules
mount -t 9p -o cache=none,${p9} shared /root${SHARED}
mount -o bind /root${root}/lib/modules /root/lib/modules
mount -o move /proc /root/proc
mount -o move /sys /root/sys
mount -o move /dev /root/dev
exec switch_root /root /bin/sh ${SHARED}/run
`;
}

/** The machine's first process after the files are there. */
function runScript(command: readonly string[]): string {
  const quoted = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  return `export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TMPDIR=/tmp
echo ${SHARED}/modprobe >/proc/sys/kernel/modprobe
${SHARED}/modprobe -qa ${RULE_MODULES.join(' ')} 2>/dev/null
ip link set lo up
cd '${process.cwd()}'
{ ${quoted}; echo $? >${SHARED}/status; } 2>&1 | tee ${SHARED}/output
sync
exec ${SHARED}/poweroff -f
`;
}

/** Whether a program needs nobody to load it. */
function isStatic(program: string): boolean {
  return !readFileSync(program).includes('/ld-linux');
}

function found(program: string): string | undefined {
  const { stdout, status } = spawnSync('sh', ['-c', `PATH=$PATH:/usr/sbin:/sbin command -v ${program}`], {
    encoding: 'utf8',
  });
  return status === 0 ? realpathSync(stdout.trim()) : undefined;
}
