// Settings of the kernel under /proc/sys, by the path beneath it: `net/ipv4/conf/all/route_localnet`.
import { readFileSync } from 'node:fs';
import { KernelError } from './error.ts';

export function readSysctl(name: string): string {
  return attempt(`read sysctl ${name}`, () => readFileSync(`/proc/sys/${name}`, 'utf8').trim());
}

/** Undefined where this kernel has no such setting, or hides it. */
export function readSysctlIfAny(name: string): string | undefined {
  try {
    return readSysctl(name);
  } catch {
    return undefined;
  }
}

function attempt<T>(operation: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new KernelError('SYSCTL_FAILED', { operation, detail: message, ...(code ? { errno: code } : {}), cause });
  }
}
