// What all controllers share: a queue of things to look at again, filled by changes, emptied one by one. A controller looks
// at the whole state of a thing each time and does what is missing, so a lost or doubled wake-up never matters.
import type { Change } from '../store.ts';
import type { World } from '../world.ts';

export interface Controller {
  /** Which keys to look at again after a change, by the kind that changed. */
  readonly watches: Readonly<Record<string, (change: Change) => readonly string[]>>;
  /** `again` asks for another look after a while, where time itself changes something. */
  reconcile(key: string, again: (afterMs: number) => void): void;
}

export interface Running {
  stop(): void;
}

const RETRY_MS = 200;

export function startController(world: World, controller: Controller, onProblem: (problem: unknown) => void): Running {
  const queue = new Set<string>();
  const timers = new Set<NodeJS.Timeout>();
  let scheduled: NodeJS.Immediate | undefined;

  const wake = (key: string, afterMs = 0) => {
    if (afterMs > 0) {
      const timer = setTimeout(() => {
        timers.delete(timer);
        wake(key);
      }, afterMs);
      timers.add(timer);
      return;
    }
    queue.add(key);
    scheduled ??= setImmediate(run);
  };
  const run = () => {
    scheduled = undefined;
    const keys = [...queue];
    queue.clear();
    for (const key of keys) {
      try {
        controller.reconcile(key, (afterMs) => wake(key, afterMs));
      } catch (problem) {
        onProblem(problem);
        wake(key, RETRY_MS);
      }
    }
  };

  const unlisten = Object.entries(controller.watches).map(([storage, keysOf]) => {
    for (const now of world.store.list(storage)) {
      for (const key of keysOf({ type: 'ADDED', version: now.version, now, before: undefined })) wake(key);
    }
    return world.store.listen(storage, (change) => {
      for (const key of keysOf(change)) wake(key);
    });
  });

  return {
    stop() {
      for (const end of unlisten) end();
      for (const timer of timers) clearTimeout(timer);
      if (scheduled) clearImmediate(scheduled);
    },
  };
}

/** The key of the object itself. */
export function ownKey({ now }: Change): readonly string[] {
  const { namespace, name } = now.object.metadata;
  return [namespace ? `${namespace}/${name}` : name];
}

/** The key of the object that controls this one, if it is of the given kind. */
export function controllerKey(kind: string): (change: Change) => readonly string[] {
  return ({ now }) => {
    const owner = now.object.metadata.ownerReferences?.find((reference) => reference.controller);
    return owner?.kind === kind ? [`${now.object.metadata.namespace}/${owner.name}`] : [];
  };
}

export function splitKey(key: string): { readonly namespace: string; readonly name: string } {
  const slash = key.indexOf('/');
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
