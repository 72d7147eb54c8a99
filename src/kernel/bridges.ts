// Which packets of this host come through a bridge that shows them to iptables.
import { existsSync } from 'node:fs';
import { readSysctlIfAny } from './sysctl.ts';

/** Undefined where it depends on a device that is not known. */
export function isBridged(device: string | undefined): boolean | undefined {
  if (readSysctlIfAny('net/bridge/bridge-nf-call-iptables') !== '1') return false;
  return device === undefined ? undefined : existsSync(`/sys/class/net/${device}/bridge`);
}
