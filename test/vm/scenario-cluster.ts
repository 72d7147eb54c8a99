// Plays the steps of a recorded IPVS scenario into a TestCluster, with what an API server keeps of a replaced Service.
import type { Tracker } from '../../src/track/tracker.ts';
import type { TestCluster } from '../support/cluster.ts';
import type { Manifest } from '../support/golden.ts';
import type { IpvsScenarioStep } from './recorded.ts';

export class ScenarioCluster {
  readonly #cluster: TestCluster;
  readonly #objects = new Map<string, Manifest>();

  constructor(cluster: TestCluster) {
    this.#cluster = cluster;
  }

  get tracker(): Tracker {
    return this.#cluster.tracker;
  }

  play({ apply = [], delete: gone = [] }: IpvsScenarioStep): void {
    for (const { kind, ...metadata } of gone) this.#delete({ kind, metadata });
    for (const manifest of apply) {
      const whole = keeping(this.#objects.get(keyOf(manifest)), manifest);
      this.#objects.set(keyOf(manifest), whole);
      this.#cluster.apply(whole);
    }
  }

  /** Deletes all that was applied. */
  clear(): void {
    for (const manifest of [...this.#objects.values()]) this.#delete(manifest);
  }

  #delete(manifest: Manifest): void {
    this.#objects.delete(keyOf(manifest));
    this.#cluster.delete(manifest);
  }
}

function keyOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}

/** A Service keeps its addresses where the new one does not name them. */
function keeping(before: Manifest | undefined, after: Manifest): Manifest {
  if (after.kind !== 'Service' || !before) return after;
  const { clusterIP, clusterIPs, ipFamilies } = before.spec ?? {};
  const kept = Object.fromEntries(Object.entries({ clusterIP, clusterIPs, ipFamilies }).filter(([, value]) => value));
  return { ...after, spec: { ...kept, ...after.spec } };
}
