// Breaks a lab on request or at random, and mends it again. Faults that last are kept here by name, so that one is never
// struck twice and all can be undone.
import { setTimeout as delay } from 'node:timers/promises';
import { LabRefusal } from '../control.ts';
import type { Lab } from '../lab.ts';
import { FAULT_KINDS, type FaultKind } from './faults.ts';

/** How often a random fault strikes, and how long it lasts if it does not heal by itself. */
const EVERY_MS = { least: 1000, most: 4000 };
const LASTS_MS = { least: 1000, most: 6000 };

export class Chaos {
  readonly #lab: Lab;
  readonly #heals = new Map<string, { readonly what: string; heal(): Promise<void> }>();

  constructor(lab: Lab) {
    this.#lab = lab;
  }

  /** What is broken now. */
  get active(): readonly string[] {
    return [...this.#heals.values()].map(({ what }) => what);
  }

  /** Strikes once; without a target any will do. Resolves to what was done. */
  async strike(kindName: string, target?: string, random: () => number = Math.random): Promise<string> {
    const kind = FAULT_KINDS[kindName];
    if (!kind)
      throw new LabRefusal(`no kind of chaos is called ${kindName}; there are ${Object.keys(FAULT_KINDS).join(', ')}`);
    const chosen = this.#target(kind, target, random);
    const key = `${kindName} ${chosen}`;
    if (this.#heals.has(key)) throw new LabRefusal(`${this.#heals.get(key)!.what} already`);
    const { what, heal } = await kind.strike(this.#lab, chosen);
    if (heal) this.#heals.set(key, { what, heal });
    return what;
  }

  /** Undoes everything. Yields what is well again. */
  async *heal(): AsyncGenerator<string> {
    for (const [key, { what, heal }] of [...this.#heals]) {
      this.#heals.delete(key);
      await heal();
      yield `no longer: ${what}`;
    }
  }

  /** Strikes again and again for a while, then heals everything. Yields what happens. */
  async *rage(forMs: number, random: () => number = Math.random): AsyncGenerator<string> {
    const between = ({ least, most }: typeof EVERY_MS) => least + random() * (most - least);
    const kinds = Object.keys(FAULT_KINDS);
    const end = Date.now() + forMs;
    while (Date.now() < end) {
      const before = new Set(this.#heals.keys());
      const kind = kinds[Math.floor(random() * kinds.length)]!;
      try {
        yield await this.strike(kind, undefined, random);
      } catch (error) {
        if (!(error instanceof LabRefusal)) throw error; // nothing of that kind is left to break
      }
      const fresh = [...this.#heals.keys()].some((key) => !before.has(key));
      await delay(Math.min(between(fresh ? LASTS_MS : EVERY_MS), Math.max(0, end - Date.now())));
      yield* this.heal();
    }
  }

  #target(kind: FaultKind, target: string | undefined, random: () => number): string {
    if (kind.target === 'none') return '';
    const nodes = this.#lab.cluster.nodes.map(({ name }) => name);
    if (target !== undefined) {
      if (kind.target === 'node' && !nodes.includes(target))
        throw new LabRefusal(`no node is called ${target}; there are ${nodes.join(', ')}`);
      return target;
    }
    const pods = this.#lab.runningPods().map(({ pod }) => `${pod.metadata.namespace}/${pod.metadata.name}`);
    // The control plane has no pods to lose.
    const targets = kind.target === 'pod' ? pods : nodes.length > 1 ? nodes.slice(1) : nodes;
    const chosen = targets[Math.floor(random() * targets.length)];
    if (chosen === undefined) throw new LabRefusal('there is nothing of that kind to break');
    return chosen;
  }
}
