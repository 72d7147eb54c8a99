// Kernel IP sets as bytes. In: sets and entries. Out: requests; and back from listings to values.
//
//   message body   nfgenmsg | PROTOCOL 7 | SETNAME | ... DATA { ... }
//
// In DATA, numbers and addresses are big endian and say so in their type (NLA_F_NET_BYTEORDER).
import type { Protocol } from '../api/objects.ts';
import { type Family, familyOf, formatIp, ipBytes } from '../lib/ip.ts';
import { IP_PROTOCOL, protocolOf } from './ip-protocol.ts';
import {
  type Attributes,
  type MessageWriter,
  nested,
  readAttributes,
  readList,
  textOf,
  u16,
} from './netlink/attributes.ts';
import { NLM_F_CREATE, NLM_F_EXCL } from './netlink/message.ts';
import { NFGENMSG_LENGTH, NFPROTO } from './netlink/netfilter.ts';
import type { NetlinkStep } from './netlink/steps.ts';

export type SetType = 'hash:ip' | 'hash:ip,port' | 'hash:ip,port,ip' | 'hash:ip,port,net' | 'bitmap:port';

export interface IpSet {
  readonly name: string;
  readonly type: SetType;
  readonly family: Family;
}

/** An element, of the parts that its set's type names. Two are the same if their texts are. */
export interface SetEntry {
  readonly ip?: string;
  readonly protocol?: Protocol;
  readonly port?: number;
  readonly ip2?: string;
  /** Of `ip2`, where it is a network. */
  readonly prefix2?: number;
}

const NFNL_SUBSYS_IPSET = 6;
export const IPSET = { protocol: 1, create: 2, destroy: 3, flush: 4, list: 7, add: 9, del: 10, type: 13 } as const;
const ATTR = {
  protocol: 1,
  setName: 2,
  typeName: 3,
  revision: 4,
  family: 5,
  data: 7,
  adt: 8,
  revisionMin: 10,
} as const;
const DATA = { ip: 1, port: 4, portTo: 5, proto: 7, hashSize: 18, maxElem: 19, ip2: 20, cidr2: 21 } as const;
const IPADDR = { IPv4: 1, IPv6: 2 } as const;
const NLA_F_NET_BYTEORDER = 0x4000;
const IPSET_PROTOCOL = 7;
const HASH_SIZE = 1024;
const MAX_ELEMENTS = 65536;

/** The newest revision of a type that the tool of ipset 7 lists; the kernel may know newer ones. */
export const KNOWN_REVISION: Readonly<Record<SetType, number>> = {
  'hash:ip': 6,
  'hash:ip,port': 7,
  'hash:ip,port,ip': 6,
  'hash:ip,port,net': 8,
  'bitmap:port': 3,
};

/** As `ipset save` prints it: `203.0.113.9,tcp:443,198.18.0.0/15`. */
export function entryText({ ip, protocol, port, ip2, prefix2 }: SetEntry): string {
  const portText = port === undefined ? [] : [protocol === undefined ? `${port}` : `${protocol.toLowerCase()}:${port}`];
  const isHost = ip2 !== undefined && prefix2 === (familyOf(ip2) === 'IPv4' ? 32 : 128);
  const second = ip2 === undefined ? [] : [prefix2 === undefined || isHost ? ip2 : `${ip2}/${prefix2}`];
  return [...(ip === undefined ? [] : [ip]), ...portText, ...second].join(',');
}

/** Makes the set; one of the same name and parameters is left as it is. */
export function createSet({ name, type, family }: IpSet, revision: number): NetlinkStep {
  return step(
    IPSET.create,
    NLM_F_CREATE,
    family,
    () => `create set ${name} ${type}`,
    (writer) => {
      writer.text(ATTR.setName, name);
      writer.text(ATTR.typeName, type);
      writer.u8(ATTR.revision, revision);
      writer.u8(ATTR.family, type === 'bitmap:port' ? NFPROTO.unspecified : NFPROTO[family]);
      writer.nest(ATTR.data, () => {
        if (type === 'bitmap:port') {
          writer.u16(DATA.port | NLA_F_NET_BYTEORDER, 0);
          writer.u16(DATA.portTo | NLA_F_NET_BYTEORDER, 65535);
        } else {
          writer.u32(DATA.hashSize | NLA_F_NET_BYTEORDER, HASH_SIZE);
          writer.u32(DATA.maxElem | NLA_F_NET_BYTEORDER, MAX_ELEMENTS);
        }
      });
    },
  );
}

export function destroySet({ name, family }: Pick<IpSet, 'name' | 'family'>): NetlinkStep {
  const write = (writer: MessageWriter): void => writer.text(ATTR.setName, name);
  return { ...step(IPSET.destroy, 0, family, () => `destroy set ${name}`, write), tolerates: ['ENOENT'] };
}

/** An entry that is there already is left as it is. */
export function addEntry(set: IpSet, entry: SetEntry): NetlinkStep {
  return entryStep(IPSET.add, set, entry, 'add');
}

/** An entry that is not there is fine. */
export function deleteEntry(set: IpSet, entry: SetEntry): NetlinkStep {
  return { ...entryStep(IPSET.del, set, entry, 'delete'), tolerates: ['ENOENT'] };
}

export function writeQuery(writer: MessageWriter, family: Family, name?: string): void {
  writeHead(writer, family);
  if (name !== undefined) writer.text(ATTR.setName, name);
}

export function writeTypeQuery(writer: MessageWriter, family: Family, type: SetType): void {
  writeHead(writer, family);
  writer.text(ATTR.typeName, type);
  writer.u8(ATTR.family, type === 'bitmap:port' ? NFPROTO.unspecified : NFPROTO[family]);
}

export function messageType(command: number): number {
  return (NFNL_SUBSYS_IPSET << 8) | command;
}

/** Lowest and highest revision in the answer to a question about a type. */
export function readRevisions(body: Uint8Array): { readonly min: number; readonly max: number } {
  const attributes = readAttributes(body, NFGENMSG_LENGTH);
  const max = attributes.get(ATTR.revision)?.[0] ?? 0;
  return { min: attributes.get(ATTR.revisionMin)?.[0] ?? max, max };
}

export function readProtocol(body: Uint8Array): number {
  return readAttributes(body, NFGENMSG_LENGTH).get(ATTR.protocol)?.[0] ?? 0;
}

/** One message of a listing; a set with many entries takes several. */
export function readListing(body: Uint8Array): {
  readonly name: string;
  readonly type: string;
  readonly entries: SetEntry[];
} {
  const attributes = readAttributes(body, NFGENMSG_LENGTH);
  const elements = attributes.get(ATTR.adt);
  return {
    name: textOf(attributes.get(ATTR.setName)!),
    type: textOf(attributes.get(ATTR.typeName) ?? new Uint8Array()),
    entries: elements ? readList(elements).map(([, payload]) => readEntry(readAttributes(payload))) : [],
  };
}

function readEntry(data: Attributes): SetEntry {
  const ip = readIp(data, DATA.ip);
  const ip2 = readIp(data, DATA.ip2);
  const protocol = protocolOf(data.get(DATA.proto)?.[0] ?? 0);
  const port = data.get(DATA.port);
  const prefix2 = data.get(DATA.cidr2)?.[0];
  return {
    ...(ip !== undefined && { ip }),
    ...(protocol !== undefined && { protocol }),
    ...(port !== undefined && { port: u16(port) }),
    ...(ip2 !== undefined && { ip2 }),
    ...(prefix2 !== undefined && { prefix2 }),
  };
}

function readIp(data: Attributes, type: number): string | undefined {
  const address = nested(data, type);
  const bytes = address?.get(IPADDR.IPv4) ?? address?.get(IPADDR.IPv6);
  return bytes && formatIp(bytes);
}

function entryStep(command: number, { name, family }: IpSet, entry: SetEntry, verb: string): NetlinkStep {
  return step(
    command,
    0,
    family,
    () => `${verb} ${name} ${entryText(entry)}`,
    (writer) => {
      writer.text(ATTR.setName, name);
      writer.nest(ATTR.data, () => {
        if (entry.ip !== undefined) writeIp(writer, DATA.ip, entry.ip);
        if (entry.port !== undefined) writer.u16(DATA.port | NLA_F_NET_BYTEORDER, entry.port);
        if (entry.protocol !== undefined) writer.u8(DATA.proto, IP_PROTOCOL[entry.protocol]);
        if (entry.ip2 !== undefined) writeIp(writer, DATA.ip2, entry.ip2);
        if (entry.prefix2 !== undefined) writer.u8(DATA.cidr2, entry.prefix2);
      });
    },
  );
}

function writeIp(writer: MessageWriter, type: number, ip: string): void {
  writer.nest(type, () => writer.bytes(IPADDR[familyOf(ip)] | NLA_F_NET_BYTEORDER, ipBytes(ip)));
}

function step(
  command: number,
  flags: number,
  family: Family,
  describe: () => string,
  write: (writer: MessageWriter) => void,
): NetlinkStep {
  return {
    type: messageType(command),
    flags: flags & ~NLM_F_EXCL,
    describe,
    write: (writer) => {
      writeHead(writer, family);
      write(writer);
    },
  };
}

function writeHead(writer: MessageWriter, family: Family): void {
  writer.raw(NFPROTO[family], 0, 0, 0);
  writer.u8(ATTR.protocol, IPSET_PROTOCOL);
}
