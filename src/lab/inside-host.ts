// How a program sees itself inside a host of the lab: the host's name, files and network, and nothing of this machine's.
// In: a host and a command. Out: the command that runs it there; and the host's files.
import { familyOf } from '../lib/ip.ts';
import { mainProgram } from './package-files.ts';

// Each host has a folder that becomes its /run. The files it holds for /etc are laid over those of this machine, wherever
// their links lead. Without a view of its own, /sys would name this machine's interfaces.
const PREPARE = `
mount --bind "/run/lab/$1" /run &&
for file in hosts resolv.conf hostname; do
  target=$(readlink -m "/etc/$file") &&
  { [ -e "$target" ] || { mkdir -p "$(dirname "$target")" && touch "$target"; } 2>/dev/null; } &&
  mount --bind "/run/etc/$file" "$target"
done
hostname "$(cat /run/etc/hostname)" && mount -t sysfs -o ro sysfs /sys
shift && exec "$@"
`;

/** To be run where the host's network is. */
export function inHostArgv(host: string, argv: readonly string[]): string[] {
  return ['unshare', '--uts', '--mount', 'sh', '-c', PREPARE, 'sh', host, ...argv];
}

/** To be run anywhere on this machine: enters the sandbox, then the host. `sandboxPid` is its first process. */
export function enterHostArgv(sandboxPid: number, host: string, argv: readonly string[]): string[] {
  // An ordinary user is root in the sandbox alone, and must enter as that.
  const user = process.getuid?.() === 0 ? [] : ['--user', '--preserve-credentials'];
  const sandbox = ['nsenter', '--target', String(sandboxPid), ...user, '--mount', '--net', '--pid'];
  return [...sandbox, 'nsenter', `--net=/run/netns/${host}`, ...inHostArgv(host, argv)];
}

/** What a program in a host finds in its environment. Nothing else of ours: a proxy setting would lead out of the lab. */
export function hostEnv(host: string): Record<string, string> {
  return {
    PATH: '/run/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: '/run/root',
    LANG: 'C.UTF-8',
    TERM: process.env.TERM ?? 'dumb',
    PS1: `${host}# `,
    KUBECONFIG: '/run/kubeconfig',
  };
}

/** Programs in front of this machine's own, in a host's /run/bin. As root, tcpdump becomes a user of its own before it looks
 *  at packets; an ordinary user's sandbox has no other users. */
function programs(): Record<string, string> {
  const portolan = `'${process.execPath}' --disable-warning=ExperimentalWarning '${mainProgram()}'`;
  const tcpdump = `PATH=/usr/sbin:/usr/bin exec ${portolan} lab as-root tcpdump -Z root "$@"`;
  return {
    'bin/portolan': `#!/bin/sh\nexec ${portolan} "$@"\n`,
    ...(process.getuid?.() !== 0 && { 'bin/tcpdump': `#!/bin/sh\n${tcpdump}\n` }),
  };
}

export interface HostFiles {
  /** In the network. */
  readonly name: string;
  /** As its programs see it. */
  readonly hostname: string;
  /** Names and addresses for /etc/hosts. */
  readonly known: readonly { readonly name: string; readonly ips: readonly string[] }[];
  readonly resolvConf: string;
  /** More files, by their path under /run. */
  readonly more?: Readonly<Record<string, string>>;
}

/** A shell script for the sandbox that writes a host's files. */
export function hostFilesScript({ name, hostname, known, resolvConf, more = {} }: HostFiles): string {
  const lines = known.flatMap((host) => host.ips.map((ip) => `${ip}\t${host.name}`));
  // The first line of a name is the one that most programs take.
  const sorted = lines.sort(
    (a, b) => Number(familyOf(addressIn(a)) === 'IPv6') - Number(familyOf(addressIn(b)) === 'IPv6'),
  );
  const files: Record<string, string> = {
    'etc/hosts': `127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n${sorted.map((line) => `${line}\n`).join('')}`,
    'etc/resolv.conf': resolvConf,
    'etc/hostname': `${hostname}\n`,
    ...programs(),
    ...more,
  };
  const folder = hostFolder(name);
  const writes = Object.entries(files).map(
    ([path, text]) => `cat > ${folder}/${path} <<'END-OF-FILE'\n${text}END-OF-FILE`,
  );
  return [`set -e; mkdir -p ${folder}/bin ${folder}/etc ${folder}/root`, ...writes, `chmod +x ${folder}/bin/*`].join(
    '\n',
  );
}

/** In the sandbox. */
export function hostFolder(host: string): string {
  return `/run/lab/${host}`;
}

function addressIn(line: string): string {
  return line.slice(0, line.indexOf('\t'));
}
