// The driver of nf_tables. In: operations on a table. Out: one transaction, lists of what the table holds, and news of what
// others do to it.
import { isNotFound } from './error.ts';
import type { Message } from './netlink/message.ts';
import { NLM_F_ACK, NLM_F_DUMP } from './netlink/message.ts';
import { commitBatch, encodeRequest, NFPROTO } from './netlink/netfilter.ts';
import { NetlinkSocket } from './netlink/socket.ts';
import { Subscription } from './netlink/subscription.ts';
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

export class Nftables {
  readonly #socket = new NetlinkSocket('netfilter');

  /** All operations happen at one instant, or none does and the error names the first that was refused. */
  async commit(table: NftTable, operations: readonly NftOperation[]): Promise<void> {
    await commitBatch(this.#socket, 'nftables', encodeSteps(table, operations), 'nftables.commit');
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

  /** Sets and maps that have a name of their own. */
  async listSets(table: NftTable): Promise<NftHeldSet[]> {
    const sets = await this.#list(table, MESSAGE.getSet, (message) => readSet(message, table));
    return sets.filter((set) => (set.flags & NFT_SET_ANONYMOUS) === 0);
  }

  async listElements(table: NftTable, set: NftSet): Promise<NftHeldElement[]> {
    const read = (message: Message): NftHeldElement[] => readElements(message, set);
    const elements = (await this.#list(table, MESSAGE.getElements, read, { 2: set.name })).flat();
    return set.isInterval ? joinIntervals(elements, (key) => encodeValue(set.key, key)) : elements;
  }

  /** Reports changes that others make to the table. Our own transactions are told apart by the socket they came from. */
  watch(table: NftTable, listener: (event: NftEvent) => void): Subscription {
    return new Subscription('netfilter', [NFNLGRP_NFTABLES], (event) => {
      if (event.kind === 'overrun') {
        listener({ kind: 'overrun' });
        return;
      }
      for (const message of event.messages) {
        const change = message.portId === this.#socket.portId ? undefined : readEvent(message, table);
        if (change) listener(change);
      }
    });
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
