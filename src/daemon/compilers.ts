// V8's optimising compilers cost a process some megabytes for good as soon as they have worked once, so bin/portolan starts the agent
// without them. They are worth it where the agent itself has much to compute: in nftables mode it encodes every row, in
// userspace mode it relays every byte.
import { setFlagsFromString } from 'node:v8';
import type { ModeName } from '../modes/mode.ts';

const MANY_SERVICES = 2000;
let areAllowed = false;

/** To be asked whenever there may be more to do. In a process that was started with compilers it changes nothing. */
export function allowCompilers(mode: ModeName, serviceCount: number): void {
  const isWorthIt = mode === 'userspace' || (mode === 'nftables' && serviceCount >= MANY_SERVICES);
  if (areAllowed || !isWorthIt) return;
  areAllowed = true;
  setFlagsFromString('--opt');
  setFlagsFromString('--maglev');
}
