// What a running lab does for other commands, by name.
import { LabRefusal, type Work } from './control.ts';
import { type CurlRequest, curl } from './curl.ts';
import type { Lab } from './lab.ts';
import type { StateFolder } from './state.ts';
import { labStatus } from './status.ts';

/** `lab` is undefined while it starts. */
export function labWork(
  lab: () => Lab | undefined,
  folder: StateFolder,
  stop: () => void,
): Readonly<Record<string, Work>> {
  const running = (): Lab => {
    const found = lab();
    if (!found) throw new LabRefusal('the lab is still starting');
    return found;
  };
  return {
    async *status() {
      yield await labStatus(running(), folder.kubeconfig);
    },
    async *place(wanted) {
      yield running().place(wanted as string);
    },
    curl: (asked) => curl(running(), asked as CurlRequest),
    async *down() {
      stop();
      yield 'going';
    },
  };
}
