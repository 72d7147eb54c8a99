// The routes of this host's main table, to tell by which device a packet leaves, and by which a client's come in.
//
//   /proc/net/route       device, destination and gateway as numbers in the machine's order, …, the mask eighth
//   /proc/net/ipv6_route  destination, prefix length, source, prefix length, next hop, metric, …, the device last
import { readFileSync } from 'node:fs';
import { cidrContains, cidrPrefixLength, type Family, formatIp, hostCidr } from '../lib/ip.ts';

export interface Route {
  readonly cidr: string;
  readonly device: string;
}

/** Undefined where no route leads there. */
export type DeviceTo = (ip: string) => string | undefined;

export function deviceLookup(family: Family): DeviceTo {
  const path = family === 'IPv4' ? '/proc/net/route' : '/proc/net/ipv6_route';
  let text = '';
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    // A kernel without this family has no routes either.
  }
  return deviceLookupIn(family === 'IPv4' ? parseRoutes(text) : parseRoutes6(text));
}

/** The most specific route counts. */
export function deviceLookupIn(routes: readonly Route[]): DeviceTo {
  const sorted = routes.toSorted((a, b) => cidrPrefixLength(b.cidr) - cidrPrefixLength(a.cidr));
  return (ip) => sorted.find(({ cidr }) => cidrContains(cidr, ip))?.device;
}

const RTF_UP = 0x1;
const RTF_REJECT = 0x200;

export function parseRoutes(text: string): readonly Route[] {
  return text
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields.length >= 8 && isUsable(fields[3]!))
    .map(([device, destination, , , , , , mask]) => {
      const bits = BigInt(`0x${mask}`).toString(2).replace(/0/g, '').length;
      return { cidr: `${formatIp(hexBytes(destination!).reverse())}/${bits}`, device: device! };
    });
}

export function parseRoutes6(text: string): readonly Route[] {
  return text
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields.length >= 10 && isUsable(fields[8]!))
    .map((fields) => {
      const ip = formatIp(hexBytes(fields[0]!));
      const length = Number.parseInt(fields[1]!, 16);
      return { cidr: length === 128 ? hostCidr(ip) : `${ip}/${length}`, device: fields[9]! };
    });
}

function isUsable(flags: string): boolean {
  const bits = Number.parseInt(flags, 16);
  return (bits & RTF_UP) !== 0 && (bits & RTF_REJECT) === 0;
}

function hexBytes(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
