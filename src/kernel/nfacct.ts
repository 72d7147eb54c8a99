// Named packet counters of netfilter, which rules of iptables can add to. They belong to the whole network namespace.
import { isNotFound, KernelError } from './error.ts';
import { readAttributes, textOf, u64 } from './netlink/attributes.ts';
import { type Message, NLM_F_ACK, NLM_F_CREATE } from './netlink/message.ts';
import { encodeRequest, NFGENMSG_LENGTH, NFPROTO } from './netlink/netfilter.ts';
import { NetlinkSocket } from './netlink/socket.ts';

const NFNL_MSG_ACCT_NEW = 0;
const NFNL_MSG_ACCT_GET = 1;
const NFACCT_NAME = 1;
const NFACCT_PKTS = 2;
const NFACCT_BYTES = 3;

// The kernel answers for a counter that nobody has made only where it knows of counters at all.
const PROBE_NAME = 'IMayExist';

export interface NfacctCounter {
  readonly name: string;
  readonly packets: bigint;
  readonly bytes: bigint;
}

export class Nfacct {
  readonly #socket = new NetlinkSocket('netfilter');

  /** Whether the kernel has such counters. */
  async isSupported(): Promise<boolean> {
    try {
      await this.get(PROBE_NAME);
      return true;
    } catch (error) {
      if (error instanceof KernelError) return false;
      throw error;
    }
  }

  /** The counter, or undefined if there is none of that name. Names have at most 31 characters. */
  async get(name: string): Promise<NfacctCounter | undefined> {
    try {
      const replies = await this.#request(NFNL_MSG_ACCT_GET, 0, name);
      return replies.map(readCounter).find((counter) => counter?.name === name);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Makes the counter unless it exists; what it has counted stays. */
  async ensure(name: string): Promise<void> {
    if (await this.get(name)) return;
    try {
      await this.#request(NFNL_MSG_ACCT_NEW, NLM_F_CREATE, name);
    } catch (error) {
      const wasMadeMeanwhile = error instanceof KernelError && error.errno === 'EBUSY'; // by the other family's sync
      if (!wasMadeMeanwhile) throw error;
    }
  }

  close(): void {
    this.#socket.close();
  }

  #request(message: number, flags: number, name: string): Promise<Message[]> {
    const sequence = this.#socket.takeSequence();
    const header = { message, flags: flags | NLM_F_ACK, family: NFPROTO.unspecified };
    const data = encodeRequest('acct', header, sequence, (writer) => writer.text(NFACCT_NAME, name));
    return this.#socket.request(data, sequence, `nfacct ${name}`);
  }
}

function readCounter({ body }: Message): NfacctCounter | undefined {
  const attributes = readAttributes(body, NFGENMSG_LENGTH);
  const name = attributes.get(NFACCT_NAME);
  const packets = attributes.get(NFACCT_PKTS);
  const bytes = attributes.get(NFACCT_BYTES);
  return name && packets && bytes && { name: textOf(name), packets: u64(packets), bytes: u64(bytes) };
}
