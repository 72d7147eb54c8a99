// Who may knock: addresses that stand for a kind of client, chosen so that they are nobody's in particular.
import { cidrAddress, cidrContains, type Family, familyOf, formatIp, ipBytes } from '../../lib/ip.ts';
import type { LocalDetector } from '../../modes/local-detector.ts';
import type { Packet } from './packet.ts';

export interface Client {
  /** `a pod of this node`, `an outside client`. */
  readonly name: string;
  readonly ip: string;
  /** The device its packets come in by, where it is known. */
  readonly device: string | undefined;
  readonly isThisHost: boolean;
}

export function packetFrom(client: Client, dst: string, dstPort: number, protocol: string): Packet {
  return {
    src: client.ip,
    dst,
    protocol: protocol.toLowerCase(),
    srcPort: undefined,
    dstPort,
    device: client.device,
    isFromThisHost: client.isThisHost,
    mark: 0,
    state: 'NEW',
  };
}

/** Networks for documentation and for measurements between networks: no client that exists has such an address. */
const NOBODY: Readonly<Record<Family, readonly string[]>> = {
  IPv4: ['198.51.100.77', '203.0.113.77', '192.0.2.77', '198.18.77.77', '198.19.77.77'],
  IPv6: ['2001:db8::77', '2001:db8:77::77', '3fff::77'],
};

/** An address in none of the networks; undefined if there is none to be had. */
export function addressOutside(family: Family, networks: readonly string[]): string | undefined {
  return NOBODY[family].find((ip) => !networks.some((cidr) => cidrContains(cidr, ip)));
}

/** An address of the network that is not taken, counted from its end, where addresses are given last. */
export function addressWithin(cidr: string, isTaken: (ip: string) => boolean): string | undefined {
  const first = ipBytes(cidrAddress(cidr));
  const hostBits = BigInt(first.length * 8 - Number(cidr.slice(cidr.indexOf('/') + 1)));
  const start = [...first].reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  const last = start + (1n << hostBits) - 1n;
  const top = hostBits > 1n ? last - 1n : last; // not the network's broadcast address
  for (let at = top; at >= start && at > top - 1000n; at--) {
    const ip = textOf(at, first.length);
    if (!isTaken(ip)) return ip;
  }
  return undefined;
}

function textOf(value: bigint, length: number): string {
  const bytes = Uint8Array.from({ length }, (_, i) => Number((value >> BigInt(8 * (length - 1 - i))) & 0xffn));
  return formatIp(bytes);
}

/** A pod of this node that is no endpoint; undefined where nothing is known of pods' addresses. */
export function podClient(
  family: Family,
  detector: LocalDetector,
  podCIDRs: readonly string[],
  isTaken: (ip: string) => boolean,
): Client | undefined {
  const networks = [...podCIDRs, ...(detector.kind === 'source' ? [detector.cidr] : [])];
  const cidr = networks.find((network) => familyOf(network) === family);
  const ip = cidr === undefined ? undefined : addressWithin(cidr, isTaken);
  return ip === undefined
    ? undefined
    : { name: 'a pod of this node', ip, device: podDevice(detector), isThisHost: false };
}

function podDevice(detector: LocalDetector): string | undefined {
  if (detector.kind === 'interface') return detector.name;
  return detector.kind === 'interface-prefix' ? `${detector.prefix}0` : undefined;
}
