// Whether EndpointSlices call this node by the name it goes by. In: every slice that comes, and the moment when all have been
// read. Out: a line in the log if none does: with a wrong name nothing is ever local, and nothing else shows it.
import type { EndpointSlice } from '../api/objects.ts';
import type { Log } from '../observe/log.ts';

/** Enough for whoever reads the line to see how nodes are called. */
const SHOWN_NAMES = 3;

export class NodeNameCheck {
  readonly #nodeName: string;
  readonly #log: Log;
  readonly #otherNames = new Set<string>();
  #isNamed = false;
  #hasComplained = false;

  constructor(nodeName: string, log: Log) {
    this.#nodeName = nodeName;
    this.#log = log;
  }

  see(slice: EndpointSlice | undefined): void {
    if (this.#isNamed || !slice) return;
    for (const { nodeName } of slice.endpoints) {
      if (nodeName === this.#nodeName) this.#isNamed = true;
      else if (nodeName !== undefined && this.#otherNames.size < SHOWN_NAMES) this.#otherNames.add(nodeName);
    }
    if (this.#isNamed && this.#hasComplained)
      this.#log.info('An endpoint is on this node now', { node: this.#nodeName });
  }

  /** All slices there are have been seen. */
  complain(): void {
    if (this.#isNamed || this.#hasComplained || this.#otherNames.size === 0) return;
    this.#hasComplained = true;
    this.#log.warning('No endpoint is on a node of this name', {
      node: this.#nodeName,
      othersAreOn: [...this.#otherNames],
      consequence:
        'nothing counts as local, so Local traffic policies drop everything here; right while no Pods of Services run on this node, else check --hostname-override',
    });
  }
}
