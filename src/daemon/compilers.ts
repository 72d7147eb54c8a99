// V8's optimising compilers cost a process some megabytes for good as soon as they have worked once. bin/portolan starts the agent
// without them; where there is much to do they save more time than that is worth.
import { setFlagsFromString } from 'node:v8';

export const MANY_SERVICES = 2000;

/** In a process that was started with them it changes nothing. */
export function allowCompilers(): void {
  setFlagsFromString('--opt');
  setFlagsFromString('--maglev');
}
