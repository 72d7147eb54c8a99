// This node's own Node object: waited for at the start, followed afterwards.
import type { ApiClient } from '../api/client/client.ts';
import type { ApiLog } from '../api/client/log.ts';
import type { Node } from '../api/objects.ts';
import { parseNode } from '../api/parse.ts';
import { Reflector, type WatchStatus } from '../api/watch.ts';
import type { Clock } from '../lib/clock.ts';

export interface NodeWatchOptions {
  readonly client: ApiClient;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly log: ApiLog;
  /** The gate WatchListClient. */
  readonly streamsInitialState: boolean;
  readonly onNode: (node: Node, previous: Node | undefined) => void;
  readonly onDeleted: () => void;
}

const POLL_MS = 1000;

export class NodeWatch {
  readonly #options: NodeWatchOptions;
  readonly #reflector: Reflector<Node>;
  #node: Node | undefined;
  #isSynced = false;

  constructor(options: NodeWatchOptions) {
    this.#options = options;
    const { client, log, clock, nodeName, streamsInitialState } = options;
    this.#reflector = new Reflector<Node>({
      client,
      log,
      clock,
      streamsInitialState,
      target: {
        resource: 'nodes',
        path: '/api/v1/nodes',
        fieldSelector: `metadata.name=${nodeName}`,
        parse: (raw) => parseNode(raw).value,
      },
      handler: {
        replace: (items) => {
          this.#isSynced = true;
          const [node] = items.values();
          if (node) this.#set(node);
          else if (this.#node) options.onDeleted();
        },
        upsert: (_, node) => this.#set(node),
        remove: () => options.onDeleted(),
      },
    });
  }

  /** The last state seen, also of a Node that was deleted since. */
  get node(): Node | undefined {
    return this.#node;
  }

  get status(): WatchStatus {
    return this.#reflector.status;
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal);
  }

  /** Resolves when the API server has answered once, however long that takes. */
  async synced(signal: AbortSignal): Promise<void> {
    await this.#until(() => this.#isSynced, Number.POSITIVE_INFINITY, 50, signal);
  }

  /** True if it came true in time. */
  waitFor(isRight: (node: Node | undefined) => boolean, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    return this.#until(() => isRight(this.#node), timeoutMs, POLL_MS, signal);
  }

  async #until(isRight: () => boolean, timeoutMs: number, pollMs: number, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#options;
    const deadline = clock.now() + timeoutMs;
    while (!isRight()) {
      if (signal.aborted || clock.now() >= deadline) return false;
      await clock.wait(pollMs, signal);
    }
    return true;
  }

  #set(node: Node): void {
    const previous = this.#node;
    this.#node = node;
    this.#options.onNode(node, previous);
  }
}
