// Tracked connections, over netlink. In: a family. Out: its flows of one kind, a few hundred at a time, so that a table of a
// million costs little memory; and the deletion of those that are named.
import { type Family, formatIp, ipBytes } from '../lib/ip.ts';
import { KernelError } from './error.ts';
import { type Attributes, MessageWriter, nested, readAttributes, u16, u32 } from './netlink/attributes.ts';
import { type Message, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST } from './netlink/message.ts';
import { encodeRequest, messageType, NFGENMSG_LENGTH, NFPROTO } from './netlink/netfilter.ts';
import { NetlinkSocket } from './netlink/socket.ts';

const IPCTNL_MSG_CT_GET = 1;
const IPCTNL_MSG_CT_DELETE = 2;

const CTA_TUPLE_ORIG = 1;
const CTA_TUPLE_REPLY = 2;
const CTA_STATUS = 3;
const CTA_ID = 12;
const CTA_ZONE = 18;
const CTA_FILTER = 25;
const CTA_STATUS_MASK = 26;
const CTA_FILTER_ORIG_FLAGS = 1;
const CTA_FILTER_REPLY_FLAGS = 2;
const CTA_FILTER_F_CTA_PROTO_NUM = 1 << 3;
const CTA_TUPLE_IP = 1;
const CTA_TUPLE_PROTO = 2;
const CTA_IP_SRC: Readonly<Record<Family, number>> = { IPv4: 1, IPv6: 3 };
const CTA_IP_DST: Readonly<Record<Family, number>> = { IPv4: 2, IPv6: 4 };
const CTA_PROTO_NUM = 1;
const CTA_PROTO_SRC_PORT = 2;
const CTA_PROTO_DST_PORT = 3;

/** Packets have come from both sides. */
const IPS_SEEN_REPLY = 1 << 1;

const DELETIONS_PER_DATAGRAM = 100;

/** One direction of a flow: who sends, and to whom. */
export interface FlowTuple {
  readonly source: string;
  readonly sourcePort: number;
  readonly destination: string;
  readonly destinationPort: number;
}

/** `unanswered-tcp`: who was dialled has said nothing yet, not even no. */
export type FlowKind = 'udp' | 'unanswered-tcp';

const PROTOCOL_NUMBERS: Readonly<Record<FlowKind, number>> = { udp: 17, 'unanswered-tcp': 6 };

/** A tracked flow. Where the reply's source is not the original destination, the destination was translated. */
export interface Flow {
  readonly original: FlowTuple;
  readonly reply: FlowTuple;
  /** The kernel's number for it: a later flow between the same ends has another. */
  readonly id: number;
  /** 0 but where someone separates connections of networks with equal addresses. */
  readonly zone: number;
}

export class Conntrack {
  readonly #socket = new NetlinkSocket('netfilter');

  /** Shows all flows of a kind, some at a time. */
  visitFlows(family: Family, kind: FlowKind, visit: (flows: readonly Flow[]) => void): Promise<void> {
    return this.#socket.exclusive(async () => {
      for await (const flows of this.#flows(family, kind)) visit(flows);
    });
  }

  /** Deletes every flow of a kind that the test says so of. Returns how many. */
  async deleteFlows(family: Family, kind: FlowKind, isStale: (flow: Flow) => boolean): Promise<number> {
    return this.#socket.exclusive(async () => {
      const stale: Flow[] = [];
      for await (const flows of this.#flows(family, kind)) stale.push(...flows.filter(isStale));
      let deleted = 0;
      for (let at = 0; at < stale.length; at += DELETIONS_PER_DATAGRAM) {
        deleted += await this.#delete(family, kind, stale.slice(at, at + DELETIONS_PER_DATAGRAM));
        await new Promise((resolve) => setImmediate(resolve));
      }
      return deleted;
    });
  }

  close(): void {
    this.#socket.close();
  }

  /** The kernel leaves out others before they are sent. */
  async *#flows(family: Family, kind: FlowKind): AsyncGenerator<Flow[]> {
    const sequence = this.#socket.takeSequence();
    const request = { message: IPCTNL_MSG_CT_GET, flags: NLM_F_DUMP, family: NFPROTO[family] };
    const data = encodeRequest('conntrack', request, sequence, (writer) => writeFilter(writer, kind));
    for await (const messages of this.#socket.dump(data, sequence, 'conntrack.list')) {
      const flows = messages.map((message) => readFlow(message, family, kind)).filter((flow) => flow !== undefined);
      if (flows.length > 0) yield flows;
    }
  }

  /** A flow that has gone by itself meanwhile is no failure. */
  async #delete(family: Family, kind: FlowKind, flows: readonly Flow[]): Promise<number> {
    const operation = 'conntrack.delete';
    const first = this.#socket.takeSequence(flows.length);
    const data = encodeDeletions(family, kind, flows, first);
    const answers = await this.#socket.answers(data, first, first + flows.length - 1, operation);
    const refusal = answers.find(({ errno }) => errno !== '' && errno !== 'ENOENT');
    if (refusal) {
      const flow = flows[refusal.sequence - first]!;
      const detail = `the flow from ${flow.original.source} to ${flow.original.destination} could not be deleted`;
      throw new KernelError('KERNEL_REFUSED', { operation, errno: refusal.errno, detail });
    }
    return answers.filter(({ errno }) => errno === '').length;
  }
}

/** By protocol since Linux 5.8, by state since 5.15; older kernels send every flow, and `readFlow` leaves out what was not asked for. */
function writeFilter(writer: MessageWriter, kind: FlowKind): void {
  writer.nest(CTA_FILTER, () => {
    writer.u32Host(CTA_FILTER_ORIG_FLAGS, CTA_FILTER_F_CTA_PROTO_NUM);
    writer.u32Host(CTA_FILTER_REPLY_FLAGS, 0);
  });
  writer.nest(CTA_TUPLE_ORIG, () =>
    writer.nest(CTA_TUPLE_PROTO, () => writer.u8(CTA_PROTO_NUM, PROTOCOL_NUMBERS[kind])),
  );
  if (kind === 'udp') return;
  writer.u32(CTA_STATUS, 0);
  writer.u32(CTA_STATUS_MASK, IPS_SEEN_REPLY);
}

function encodeDeletions(family: Family, kind: FlowKind, flows: readonly Flow[], first: number): Uint8Array {
  const writer = new MessageWriter(128 * flows.length);
  for (const [i, flow] of flows.entries()) {
    writer.beginMessage(messageType('conntrack', IPCTNL_MSG_CT_DELETE), NLM_F_REQUEST | NLM_F_ACK, first + i);
    writer.raw(NFPROTO[family], 0, 0, 0);
    writeTuple(writer, CTA_TUPLE_ORIG, family, kind, flow.original);
    writeTuple(writer, CTA_TUPLE_REPLY, family, kind, flow.reply);
    writer.u32(CTA_ID, flow.id);
    if (flow.zone !== 0) writer.u16(CTA_ZONE, flow.zone);
    writer.endMessage();
  }
  return writer.written();
}

function writeTuple(writer: MessageWriter, type: number, family: Family, kind: FlowKind, tuple: FlowTuple): void {
  writer.nest(type, () => {
    writer.nest(CTA_TUPLE_IP, () => {
      writer.bytes(CTA_IP_SRC[family], ipBytes(tuple.source));
      writer.bytes(CTA_IP_DST[family], ipBytes(tuple.destination));
    });
    writer.nest(CTA_TUPLE_PROTO, () => {
      writer.u8(CTA_PROTO_NUM, PROTOCOL_NUMBERS[kind]);
      writer.u16(CTA_PROTO_SRC_PORT, tuple.sourcePort);
      writer.u16(CTA_PROTO_DST_PORT, tuple.destinationPort);
    });
  });
}

function readFlow({ body }: Message, family: Family, kind: FlowKind): Flow | undefined {
  if (body[0] !== NFPROTO[family]) return undefined;
  const attributes = readAttributes(body, NFGENMSG_LENGTH);
  const original = readTuple(nested(attributes, CTA_TUPLE_ORIG), family, kind);
  const reply = readTuple(nested(attributes, CTA_TUPLE_REPLY), family, kind);
  const id = attributes.get(CTA_ID);
  const status = attributes.get(CTA_STATUS);
  if (!original || !reply || !id || !status) return undefined;
  if (kind === 'unanswered-tcp' && (u32(status) & IPS_SEEN_REPLY) !== 0) return undefined;
  const zone = attributes.get(CTA_ZONE);
  return { original, reply, id: u32(id), zone: zone ? u16(zone) : 0 };
}

function readTuple(tuple: Attributes | undefined, family: Family, kind: FlowKind): FlowTuple | undefined {
  const ip = tuple && nested(tuple, CTA_TUPLE_IP);
  const protocol = tuple && nested(tuple, CTA_TUPLE_PROTO);
  if (!ip || !protocol || protocol.get(CTA_PROTO_NUM)?.[0] !== PROTOCOL_NUMBERS[kind]) return undefined;
  return {
    source: formatIp(ip.get(CTA_IP_SRC[family])!),
    sourcePort: u16(protocol.get(CTA_PROTO_SRC_PORT)!),
    destination: formatIp(ip.get(CTA_IP_DST[family])!),
    destinationPort: u16(protocol.get(CTA_PROTO_DST_PORT)!),
  };
}
