// The cluster's DNS: answers A and AAAA for Services, over UDP and TCP, and says of every other name that there is none.
//
//   header 12   id 2 | flags 2 | questions 2 | answers 2 | authorities 2 | additional 2
//   question    labels (length, letters)… 0 | type 2 | class 2
//   answer      a pointer to the question's name 2 | type 2 | class 2 | seconds 4 | length 2 | address 4 or 16
import type net from 'node:net';
import { familyOf, ipBytes } from '../../lib/ip.ts';
import type { Program } from './program.ts';

type Resolve = (name: string) => readonly string[] | undefined;

const TYPE = { IPv4: 1, IPv6: 28 } as const;
const CLASS_IN = 1;
const TTL_SECONDS = 5;
const HEADER_BYTES = 12;
const POINTER_TO_QUESTION = 0xc000 | HEADER_BYTES;
const FLAG_ANSWER = 0x8000;
const FLAG_AUTHORITATIVE = 0x0400;
const FLAGS_KEPT = 0x0100; // recursion desired
const NAME_ERROR = 3;

export const dns: Program = {
  about: "the cluster's DNS",
  images: /(^|[/-])(coredns|kube-dns)$/,
  listen: (pod) => {
    const accept = (socket: net.Socket) => answerStream(socket, pod.resolve);
    return [
      { port: 53, service: { kind: 'udp', answer: (question) => dnsAnswer(question, pod.resolve) } },
      { port: 53, service: { kind: 'tcp', accept } },
    ];
  },
};

/** Undefined for what is no question. */
export function dnsAnswer(question: Uint8Array, resolve: Resolve): Uint8Array | undefined {
  const asked = Buffer.from(question);
  const name = asked.length > HEADER_BYTES && readName(asked);
  if (!name || asked.length < name.end + 4) return undefined;
  const type = asked.readUInt16BE(name.end);
  const found = resolve(name.text);
  const records = (found ?? [])
    .filter((ip) => TYPE[familyOf(ip)] === type)
    .map((ip) => addressRecord(type, ipBytes(ip)));
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(asked.readUInt16BE(0), 0);
  const code = found ? 0 : NAME_ERROR;
  header.writeUInt16BE(FLAG_ANSWER | FLAG_AUTHORITATIVE | (asked.readUInt16BE(2) & FLAGS_KEPT) | code, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, asked.subarray(HEADER_BYTES, name.end + 4), ...records]);
}

function readName(message: Buffer): { readonly text: string; readonly end: number } | undefined {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (;;) {
    const length = message[at];
    if (length === undefined || length > 63) return undefined; // a question's name is never a pointer
    if (length === 0) return { text: labels.join('.'), end: at + 1 };
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
}

function addressRecord(type: number, address: Uint8Array): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt16BE(POINTER_TO_QUESTION, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(CLASS_IN, 4);
  head.writeUInt32BE(TTL_SECONDS, 6);
  head.writeUInt16BE(address.length, 10);
  return Buffer.concat([head, address]);
}

/** Over TCP each message has its length in front. */
function answerStream(socket: net.Socket, resolve: Resolve): void {
  let pending = Buffer.alloc(0);
  socket.on('data', (data: Buffer) => {
    pending = Buffer.concat([pending, data]);
    while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
      const end = 2 + pending.readUInt16BE(0);
      const answer = dnsAnswer(pending.subarray(2, end), resolve);
      pending = pending.subarray(end);
      if (!answer) return void socket.destroy();
      socket.write(Buffer.concat([Uint8Array.of(answer.length >> 8, answer.length & 0xff), answer]));
    }
  });
}
