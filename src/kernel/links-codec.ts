// Devices and their addresses over route netlink, as bytes. Numbers are in host order.
//
//   ifinfomsg   0 family | 1 pad | 2..3 type | 4..7 index | 8..11 flags | 12..15 change
//   ifaddrmsg   0 family | 1 prefix length | 2 flags | 3 scope | 4..7 index
import { type Family, familyOf, formatIp, ipBytes } from '../lib/ip.ts';
import { type MessageWriter, readAttributes, textOf } from './netlink/attributes.ts';
import { NLM_F_CREATE, NLM_F_EXCL } from './netlink/message.ts';
import type { NetlinkStep } from './netlink/steps.ts';

export const RTM = { newLink: 16, delLink: 17, getLink: 18, newAddr: 20, delAddr: 21, getAddr: 22 } as const;
const IFLA = { ifName: 3, txqLen: 13, linkInfo: 18 } as const;
const IFLA_INFO_KIND = 1;
const IFA = { address: 1, local: 2, cacheInfo: 6 } as const;
const IFINFO_LENGTH = 16;
const IFADDR_LENGTH = 8;
const AF: Readonly<Record<Family, number>> = { IPv4: 2, IPv6: 10 };
const SCOPE_LINK = 253;

export interface Device {
  readonly index: number;
  readonly name: string;
  /** `dummy`, `veth`, … or '' for a device that has no kind, such as a network card. */
  readonly kind: string;
}

export interface DeviceAddress {
  readonly device: number;
  readonly ip: string;
  /** Valid on its own link only, as those of fe80::/10. */
  readonly isLinkLocal: boolean;
}

export function createDummy(name: string): NetlinkStep {
  return {
    type: RTM.newLink,
    flags: NLM_F_CREATE | NLM_F_EXCL,
    tolerates: ['EEXIST'],
    describe: () => `create dummy device ${name}`,
    write: (writer) => {
      writeLinkHead(writer, 0);
      writer.text(IFLA.ifName, name);
      writer.u32Host(IFLA.txqLen, 0);
      writer.nest(IFLA.linkInfo, () => writer.bytes(IFLA_INFO_KIND, new TextEncoder().encode('dummy')));
    },
  };
}

export function deleteDevice({ index, name }: Device): NetlinkStep {
  return {
    type: RTM.delLink,
    flags: 0,
    tolerates: ['ENODEV'],
    describe: () => `delete device ${name}`,
    write: (writer) => writeLinkHead(writer, index),
  };
}

/** The address alone, without a network around it, and never the source of packets to others: an IPv6 node would choose it
 *  for its likeness to a destination. One that is there is left as it is. */
export function addAddress(device: Device, ip: string): NetlinkStep {
  return {
    type: RTM.newAddr,
    flags: NLM_F_CREATE | NLM_F_EXCL,
    tolerates: ['EEXIST'],
    describe: () => `add address ${ip} to ${device.name}`,
    write: (writer) => {
      writeAddress(writer, device, ip);
      if (familyOf(ip) === 'IPv6') writer.bytes(IFA.cacheInfo, NOT_PREFERRED);
    },
  };
}

/** An address that is not there is fine. */
export function deleteAddress(device: Device, ip: string): NetlinkStep {
  return {
    type: RTM.delAddr,
    flags: 0,
    tolerates: ['EADDRNOTAVAIL', 'ENXIO'],
    describe: () => `delete address ${ip} from ${device.name}`,
    write: (writer) => writeAddress(writer, device, ip),
  };
}

// ifa_cacheinfo   preferred for 0 s | valid for ever | when it was made, when it changed
const NOT_PREFERRED = Uint8Array.of(0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, ...new Array<number>(8).fill(0));

export function writeLinkQuery(writer: MessageWriter, name: string): void {
  writeLinkHead(writer, 0);
  writer.text(IFLA.ifName, name);
}

export function writeAddressQuery(writer: MessageWriter, family: Family): void {
  writer.raw(AF[family], 0, 0, 0, 0, 0, 0, 0);
}

export function readDevice(body: Uint8Array): Device {
  const attributes = readAttributes(body, IFINFO_LENGTH);
  const info = attributes.get(IFLA.linkInfo);
  const kind = info && readAttributes(info).get(IFLA_INFO_KIND);
  return {
    index: new DataView(body.buffer, body.byteOffset).getInt32(4, true),
    name: textOf(attributes.get(IFLA.ifName)!),
    kind: kind ? textOf(kind) : '',
  };
}

export function readAddress(body: Uint8Array): DeviceAddress | undefined {
  const attributes = readAttributes(body, IFADDR_LENGTH);
  const bytes = attributes.get(IFA.local) ?? attributes.get(IFA.address);
  if (!bytes) return undefined;
  return {
    device: new DataView(body.buffer, body.byteOffset).getUint32(4, true),
    ip: formatIp(bytes),
    isLinkLocal: body[3] === SCOPE_LINK,
  };
}

function writeLinkHead(writer: MessageWriter, index: number): void {
  writer.raw(0, 0, 0, 0, ...indexBytes(index), 0, 0, 0, 0, 0, 0, 0, 0);
}

function writeAddress(writer: MessageWriter, device: Device, ip: string): void {
  const family = familyOf(ip);
  writer.raw(AF[family], family === 'IPv4' ? 32 : 128, 0, 0, ...indexBytes(device.index));
  writer.bytes(IFA.local, ipBytes(ip));
  writer.bytes(IFA.address, ipBytes(ip));
}

function indexBytes(index: number): number[] {
  return [index & 0xff, (index >> 8) & 0xff, (index >> 16) & 0xff, (index >> 24) & 0xff];
}
