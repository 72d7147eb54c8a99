// The kernel's IP sets, of the network namespace where the socket was opened. In: requests. Out: what they hold.
import type { Family } from '../lib/ip.ts';
import { KernelError } from './error.ts';
import {
  createSet,
  destroySet,
  IPSET,
  type IpSet,
  KNOWN_REVISION,
  messageType,
  readListing,
  readProtocol,
  readRevisions,
  type SetEntry,
  type SetType,
  writeQuery,
  writeTypeQuery,
} from './ipset-codec.ts';
import type { MessageWriter } from './netlink/attributes.ts';
import { NLM_F_ACK, NLM_F_DUMP } from './netlink/message.ts';
import { NetlinkSocket } from './netlink/socket.ts';
import { encodeQuery, type NetlinkStep, sendSteps } from './netlink/steps.ts';

/** What one set holds. */
export interface HeldSet {
  readonly name: string;
  readonly type: string;
  readonly entries: readonly SetEntry[];
}

const OLDEST_PROTOCOL = 6;
const SET_IN_USE = 'Unknown system error -4100'; // IPSET_ERR_BUSY: a rule still refers to it
const BUSY_ATTEMPTS = 50;
const BUSY_WAIT_MS = 20;

export class IpSets {
  readonly #socket: NetlinkSocket;
  readonly #revisions = new Map<string, number>();

  /** `socket` becomes this object's own. */
  constructor(socket = new NetlinkSocket('netfilter')) {
    this.#socket = socket;
  }

  /** Why sets cannot be used here, or undefined if they can. */
  async unusableBecause(): Promise<string | undefined> {
    try {
      const [reply] = await this.#ask(IPSET.protocol, (writer) => writeQuery(writer, 'IPv4'), 'ipset.protocol');
      const protocol = reply ? readProtocol(reply) : 0;
      return protocol >= OLDEST_PROTOCOL ? undefined : `the kernel speaks version ${protocol} of the ipset protocol`;
    } catch (error) {
      if (error instanceof KernelError) return error.message;
      throw error;
    }
  }

  /** Every set, or those of one name. */
  async list(name?: string): Promise<readonly HeldSet[]> {
    const sets = new Map<string, { name: string; type: string; entries: SetEntry[] }>();
    const request = (sequence: number): Uint8Array =>
      encodeQuery(messageType(IPSET.list), NLM_F_DUMP, sequence, (writer) => writeQuery(writer, 'IPv4', name));
    const parts = await this.#socket.list(request, 'ipset.list', ({ body }) => readListing(body));
    for (const { name: of, type, entries } of parts) {
      const set = sets.get(of);
      if (set) for (const entry of entries) set.entries.push(entry);
      else sets.set(of, { name: of, type, entries });
    }
    return [...sets.values()];
  }

  /** Makes sets; those that exist with the same parameters are left as they are. */
  async create(sets: readonly IpSet[]): Promise<void> {
    const steps: NetlinkStep[] = [];
    for (const set of sets) steps.push(createSet(set, await this.#revision(set.type, set.family)));
    await sendSteps(this.#socket, steps, 'ipset.create');
  }

  send(steps: readonly NetlinkStep[]): Promise<void> {
    return sendSteps(this.#socket, steps, 'ipset.send');
  }

  /** Destroys sets that no rule refers to. A deleted rule lets go of its set a little later. */
  async destroy(sets: readonly Pick<IpSet, 'name' | 'family'>[]): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await sendSteps(this.#socket, sets.map(destroySet), 'ipset.destroy');
        return;
      } catch (error) {
        const isBusy = error instanceof KernelError && error.errno === SET_IN_USE;
        if (!isBusy || attempt === BUSY_ATTEMPTS) throw error;
        await new Promise((resolve) => setTimeout(resolve, BUSY_WAIT_MS));
      }
    }
  }

  close(): void {
    this.#socket.close();
  }

  /** The newest revision that the kernel and the ipset tool both know. */
  async #revision(type: SetType, family: Family): Promise<number> {
    const key = `${type} ${family}`;
    const known = this.#revisions.get(key);
    if (known !== undefined) return known;
    const [reply] = await this.#ask(IPSET.type, (writer) => writeTypeQuery(writer, family, type), `ipset.type ${type}`);
    const revision = Math.min(reply ? readRevisions(reply).max : 0, KNOWN_REVISION[type]);
    this.#revisions.set(key, revision);
    return revision;
  }

  async #ask(command: number, write: (writer: MessageWriter) => void, operation: string): Promise<Uint8Array[]> {
    const sequence = this.#socket.takeSequence();
    const request = encodeQuery(messageType(command), NLM_F_ACK, sequence, write);
    return (await this.#socket.request(request, sequence, operation)).map(({ body }) => body);
  }
}
