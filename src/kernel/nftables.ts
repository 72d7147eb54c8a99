// The driver of nf_tables. In: operations on a table. Out: one transaction, lists of what the table holds, and news of what
// others do to it.
import { isNotFound } from './error.ts';
import type { Message } from './netlink/message.ts';
import { NLM_F_ACK, NLM_F_DUMP } from './netlink/message.ts';
import { commitBatch, encodeRequest, NFPROTO } from './netlink/netfilter.ts';
import { NetlinkSocket } from './netlink/socket.ts';
import { Subscription, type SubscriptionEvent } from './netlink/subscription.ts';
import { nftablesGeneration } from './nftables-generation.ts';
import type {
  NftEvent,
  NftHeldChain,
  NftHeldElement,
  NftHeldRule,
  NftHeldSet,
  NftHeldTable,
  NftOperation,
  NftSet,
  NftTable,
} from './nftables-objects.ts';
import { joinIntervals, readChain, readElements, readEvent, readRule, readSet, readTable } from './nftables-read.ts';
import { encodeSteps, MESSAGE, NFT_SET_ANONYMOUS } from './nftables-steps.ts';
import { encodeValue } from './nftables-values.ts';

const NFNLGRP_NFTABLES = 7;

// News of a bigger transaction than this may not fit the buffer they are read from.
const QUIET_STEPS = 100;

interface Watch {
  readonly subscription: Subscription;
  readonly listener: (event: NftEvent) => void;
}

export class Nftables {
  readonly #socket = new NetlinkSocket('netfilter');
  readonly #watches = new Set<Watch>();

  /** All operations happen at one instant, or none does and the error names the first that was refused. */
  async commit(table: NftTable, operations: readonly NftOperation[]): Promise<void> {
    const steps = encodeSteps(table, operations);
    const commit = () => commitBatch(this.#socket, 'nftables', steps, 'nftables.commit');
    if (steps.length > QUIET_STEPS && this.#watches.size > 0) await this.#quietly(commit);
    else await commit();
  }

  /** The kernel tells watchers of every row, also of ours, and so many that they may be lost. Its count of transactions says
   *  whether all of the news are our own, and need not be heard. */
  async #quietly(commit: () => Promise<void>): Promise<void> {
    const watches = [...this.#watches];
    const counted = async (): Promise<void> => {
      const before = await this.generation();
      await commit();
      if ((await this.generation()) !== before + 1) for (const { listener } of watches) listener({ kind: 'overrun' });
    };
    const unheard = watches.reduce(
      (work, { subscription }) =>
        () =>
          subscription.deaf(work),
      counted,
    );
    await unheard();
  }

  /** Counts the transactions in this network namespace, whoever made them. */
  generation(): Promise<number> {
    return nftablesGeneration(this.#socket);
  }

  /** Whether the kernel would take the operations; it changes nothing. */
  async check(table: NftTable, operations: readonly NftOperation[]): Promise<void> {
    await commitBatch(this.#socket, 'nftables', encodeSteps(table, operations), 'nftables.check', true);
  }

  /** The table, or undefined if there is none. */
  async getTable(table: NftTable): Promise<NftHeldTable | undefined> {
    const sequence = this.#socket.takeSequence();
    const request = { message: MESSAGE.getTable, flags: NLM_F_ACK, family: NFPROTO[table.family] };
    const data = encodeRequest('nftables', request, sequence, (writer) => writer.text(1, table.name));
    try {
      const replies = await this.#socket.request(data, sequence, 'nftables.getTable');
      return replies.map((reply) => readTable(reply, table)).find((held) => held !== undefined);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  listChains(table: NftTable): Promise<NftHeldChain[]> {
    return this.#list(table, MESSAGE.getChain, (message) => readChain(message, table));
  }

  listRules(table: NftTable, chain?: string): Promise<NftHeldRule[]> {
    const filter = { ...(chain !== undefined && { 2: chain }) };
    return this.#list(table, MESSAGE.getRule, (message) => readRule(message, table), filter);
  }

  /** Sets and maps that have a name of their own; or all, also those that belong to one rule. */
  async listSets(table: NftTable, withAnonymous = false): Promise<NftHeldSet[]> {
    const sets = await this.#list(table, MESSAGE.getSet, (message) => readSet(message, table));
    return withAnonymous ? sets : sets.filter((set) => (set.flags & NFT_SET_ANONYMOUS) === 0);
  }

  /** Without counters a long list takes less time, and less memory where only some elements are wanted. */
  async listElements(
    table: NftTable,
    set: NftSet,
    withCounters = true,
    isWanted: (element: NftHeldElement) => boolean = () => true,
  ): Promise<NftHeldElement[]> {
    const read = (message: Message): NftHeldElement[] => readElements(message, set, withCounters).filter(isWanted);
    const elements = (await this.#list(table, MESSAGE.getElements, read, { 2: set.name })).flat();
    return set.isInterval ? joinIntervals(elements, (key) => encodeValue(set.key, key)) : elements;
  }

  /** Reports changes that others make to the table. Our own transactions are told apart by the socket they came from. */
  watch(table: NftTable, listener: (event: NftEvent) => void): Pick<Subscription, 'look' | 'close'> {
    const hear = (event: SubscriptionEvent): void => {
      if (event.kind === 'overrun') {
        listener(event);
        return;
      }
      for (const message of event.messages) {
        const change = message.portId === this.#socket.portId ? undefined : readEvent(message, table);
        if (change) listener(change);
      }
    };
    const subscription = new Subscription('netfilter', [NFNLGRP_NFTABLES], hear);
    const watch = { subscription, listener };
    this.#watches.add(watch);
    return {
      look: () => subscription.look(),
      close: () => {
        this.#watches.delete(watch);
        subscription.close();
      },
    };
  }

  close(): void {
    this.#socket.close();
  }

  #list<T>(
    table: NftTable,
    message: number,
    read: (message: Message) => T | undefined,
    filter: Readonly<Record<number, string>> = {},
  ): Promise<T[]> {
    const request = { message, flags: NLM_F_DUMP, family: NFPROTO[table.family] };
    const encode = (sequence: number): Uint8Array =>
      encodeRequest('nftables', request, sequence, (writer) => {
        // Chains cannot be filtered by table: the kernel ignores the name there, and `read` leaves out the others.
        writer.text(1, table.name);
        for (const [type, text] of Object.entries(filter)) writer.text(Number(type), text);
      });
    return this.#socket.list(encode, 'nftables.list', read);
  }
}
