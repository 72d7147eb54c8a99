// What a running lab does for other commands, by name.
import { setTimeout as delay } from 'node:timers/promises';
import { LabRefusal, type Work } from './control.ts';
import { type CurlRequest, curl } from './curl.ts';
import type { Lab } from './lab.ts';
import type { StateFolder } from './state.ts';
import { labStatus } from './status.ts';

export interface ChaosRequest {
  /** One of the faults, or `random`, `heal`, `list`. */
  readonly kind: string;
  readonly target?: string;
  readonly forMs?: number;
}

export interface ModeRequest {
  readonly mode: string;
  readonly node?: string;
}

const RANDOM_MS = 60_000;

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
    chaos: (asked) => chaos(running(), asked as ChaosRequest),
    async *mode(asked) {
      const { mode, node } = asked as ModeRequest;
      await running().changeMode(mode, node);
      yield `${node ?? 'Every node'} works in ${mode} mode.`;
    },
    curl: (asked) => curl(running(), asked as CurlRequest),
    async *down() {
      stop();
      yield 'going';
    },
  };
}

async function* chaos({ chaos }: Lab, { kind, target, forMs }: ChaosRequest): AsyncGenerator<string> {
  switch (kind) {
    case 'list':
      yield chaos.active.length > 0 ? `Broken now: ${chaos.active.join('; ')}` : 'Nothing is broken.';
      return;
    case 'heal':
      yield* chaos.heal();
      return;
    case 'random':
      yield* chaos.rage(forMs ?? RANDOM_MS);
      return;
    default:
      yield await chaos.strike(kind, target);
      if (forMs === undefined) return;
      await delay(forMs);
      yield* chaos.heal();
  }
}
