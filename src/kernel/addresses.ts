// The addresses of this machine, from route netlink: all interfaces, also those that are down, and loopback.
//
//   ifaddrmsg   0 family | 1 prefix length | 2 flags | 3 scope | 4..7 interface
import { type Family, formatIp } from '../lib/ip.ts';
import { MessageWriter, readAttributes } from './netlink/attributes.ts';
import { type Message, NLM_F_DUMP, NLM_F_REQUEST } from './netlink/message.ts';
import { NetlinkSocket } from './netlink/socket.ts';
import { Subscription } from './netlink/subscription.ts';

const RTM_NEWADDR = 20;
const RTM_GETADDR = 22;
const IFA_ADDRESS = 1;
const IFA_LOCAL = 2; // of a point-to-point link, where the other is the peer's
const IFADDRMSG_LENGTH = 8;
const AF: Readonly<Record<Family, number>> = { IPv4: 2, IPv6: 10 };
const RTNLGRP_IPV4_IFADDR = 5;
const RTNLGRP_IPV6_IFADDR = 9;

export class Addresses {
  readonly #socket = new NetlinkSocket('route');

  /** Every address of the family, each once. */
  async list(family: Family): Promise<string[]> {
    const encode = (sequence: number): Uint8Array => encodeList(family, sequence);
    const addresses = await this.#socket.list(encode, 'addresses.list', (message) => readAddress(message, family));
    return [...new Set(addresses)];
  }

  /** Calls back after addresses came or went, once for all that did at a time. */
  watch(listener: () => void): Subscription {
    return new Subscription('route', [RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR], listener);
  }

  close(): void {
    this.#socket.close();
  }
}

function encodeList(family: Family, sequence: number): Uint8Array {
  const writer = new MessageWriter();
  writer.beginMessage(RTM_GETADDR, NLM_F_REQUEST | NLM_F_DUMP, sequence);
  writer.raw(AF[family], 0, 0, 0, 0, 0, 0, 0);
  writer.endMessage();
  return writer.written();
}

function readAddress({ type, body }: Message, family: Family): string | undefined {
  if (type !== RTM_NEWADDR || body[0] !== AF[family]) return undefined;
  const attributes = readAttributes(body, IFADDRMSG_LENGTH);
  const bytes = attributes.get(IFA_LOCAL) ?? attributes.get(IFA_ADDRESS);
  return bytes && formatIp(bytes);
}
