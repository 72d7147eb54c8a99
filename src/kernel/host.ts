// What this host and this process are: probed once, plain data. Nothing here changes anything.
import { existsSync, readFileSync } from 'node:fs';
import { release } from 'node:os';
import type { FamilyProbes } from '../node/warnings.ts';
import { type RunProcess, runProcess } from './process.ts';
import { readSysctlIfAny } from './sysctl.ts';

/** `6.1.0-13-amd64` */
export function kernelVersion(): string {
  return release();
}

export function ipv6Support(): FamilyProbes['ipv6'] {
  if (!existsSync('/proc/net/if_inet6')) return 'absent';
  return readSysctlIfAny('net/ipv6/conf/all/disable_ipv6') === '1' ? 'disabled' : 'usable';
}

/** The rights that parts of Portolan ask for, with their bits in linux/capability.h. */
const CAPABILITIES = { NET_ADMIN: 12, NET_RAW: 13, SYS_MODULE: 16, SYS_ADMIN: 21, SYS_RESOURCE: 24 } as const;
export type Capability = keyof typeof CAPABILITIES;

/** Those of CAPABILITIES that this process has in effect. */
export function heldCapabilities(): ReadonlySet<Capability> {
  return parseCapabilities(readFileSync('/proc/self/status', 'utf8'));
}

/** In: the text of /proc/PID/status. */
export function parseCapabilities(status: string): ReadonlySet<Capability> {
  const bits = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? '0'}`);
  const names = Object.keys(CAPABILITIES) as Capability[];
  return new Set(names.filter((name) => (bits >> BigInt(CAPABILITIES[name])) & 1n));
}

/** Version of the `nft` program: `1.0.6`; undefined where it is not installed. */
export async function nftVersion(run: RunProcess = runProcess): Promise<string | undefined> {
  return programVersion('nft', run);
}

/** Version of the `ipset` program: `7.17`. */
export async function ipsetVersion(run: RunProcess = runProcess): Promise<string | undefined> {
  return programVersion('ipset', run);
}

async function programVersion(program: string, run: RunProcess): Promise<string | undefined> {
  try {
    const { stdout } = await run(program, ['--version']);
    return /v(\d+(?:\.\d+)+)/.exec(stdout)?.[1];
  } catch {
    return undefined; // not installed
  }
}

/** Whether the kernel has a module, built in, loaded, or on disk to be loaded when it is first used. */
export function moduleSupport(module: string): 'present' | 'loadable' | 'absent' {
  if (existsSync(`/sys/module/${module}`)) return 'present';
  const folder = `/lib/modules/${release()}`;
  const isListed = (file: string): boolean => {
    try {
      return new RegExp(`/${module}\\.ko(\\.\\w+)?\\b`, 'm').test(readFileSync(`${folder}/${file}`, 'utf8'));
    } catch {
      return false; // no modules on disk, or not visible in this container
    }
  };
  if (isListed('modules.builtin')) return 'present';
  return isListed('modules.dep') ? 'loadable' : 'absent';
}

/** The tables of legacy iptables that exist in this network namespace. To read one that does not would create it, and put
 *  its hooks in the path of every packet: ask here first. */
export function legacyTables(family: 'IPv4' | 'IPv6'): readonly string[] {
  try {
    const names = readFileSync(`/proc/net/${family === 'IPv4' ? 'ip' : 'ip6'}_tables_names`, 'utf8');
    return names.split('\n').filter((name) => name !== '');
  } catch {
    return []; // the kernel has no legacy iptables, or hides it from who lacks the right to it
  }
}

/** Root of a user namespace may do less than the machine's own: its send buffers, for one, cannot be made larger. */
export function isInUserNamespace(): boolean {
  try {
    return !/^\s*0\s+0\s+4294967295\s*$/.test(readFileSync('/proc/self/uid_map', 'utf8'));
  } catch {
    return false; // a kernel without user namespaces
  }
}
