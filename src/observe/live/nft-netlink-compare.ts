// In: a loaded field, and what a rule compares it with.  Out: the words behind the field's name; undefined where nft's words would
// say something else.
import { decodeValue } from '../../kernel/nftables-values.ts';
import { formatIp } from '../../lib/ip.ts';
import type { Loaded } from './nft-netlink-registers.ts';

type Field = Extract<Loaded, { kind: 'field' }>;

const RTN_LOCAL = 2;
const IFNAMSIZ = 16;

/** Bits of ct state and of ct status that the walker knows. */
const BITS = {
  state: [
    [1, 'invalid'],
    [2, 'established'],
    [4, 'related'],
    [8, 'new'],
    [64, 'untracked'],
  ],
  status: [
    [16, 'snat'],
    [32, 'dnat'],
  ],
} as const;

export function comparisonText(field: Field, isNegated: boolean, data: Uint8Array): string | undefined {
  const not = isNegated ? '!= ' : '';
  if (field.type === 'device') return field.masked ? undefined : quoted(not, deviceName(data));
  if (data.length !== field.bytes) return undefined;
  switch (field.type) {
    case 'ipv4_addr':
    case 'ipv6_addr': {
      const network = networkText(field, data);
      return network && `${not}${network}`;
    }
    case 'inet_proto':
    case 'inet_service':
      return field.masked ? undefined : `${not}${decodeValue([field.type], data)}`;
    case 'mark':
      if (!field.masked) return `${not}${hex(hostWord(data))}`;
      if (hostWord(field.masked.xor) !== 0) return undefined;
      return `& ${hex(hostWord(field.masked.mask))} ${isNegated ? '!=' : '=='} ${hex(hostWord(data))}`;
    case 'state':
    case 'status':
      return isNegated && hostWord(data) === 0 ? bitNames(field, BITS[field.type]) : undefined;
    case 'address-type':
      return !field.masked && hostWord(data) === RTN_LOCAL ? `${not}local` : undefined;
    case 'integer':
      return undefined;
  }
}

export function hostWord(data: Uint8Array): number {
  return new DataView(data.buffer, data.byteOffset, data.byteLength).getUint32(0, true);
}

/** As nft writes marks. */
export function hex(value: number): string {
  return `0x${(value >>> 0).toString(16).padStart(8, '0')}`;
}

/** A name fills its room with zeros; what is shorter is the beginning of names. */
function deviceName(data: Uint8Array): string | undefined {
  const end = data.indexOf(0);
  const name = Buffer.from(end < 0 ? data : data.subarray(0, end)).toString();
  if (data.length === IFNAMSIZ) return name;
  return end < 0 ? `${name}*` : undefined;
}

function quoted(before: string, name: string | undefined): string | undefined {
  return name === undefined || name.includes('"') ? undefined : `${before}"${name}"`;
}

/** The bytes that were loaded, as a network of as many; under a mask, of as many bits as it has in front. */
function networkText({ type, masked }: Field, data: Uint8Array): string | undefined {
  const length = type === 'ipv4_addr' ? 4 : 16;
  if (!masked) {
    const address = new Uint8Array(length);
    address.set(data);
    return data.length === length ? formatIp(address) : `${formatIp(address)}/${8 * data.length}`;
  }
  const bits = Array.from(masked.mask, (byte) => byte.toString(2).padStart(8, '0')).join('');
  const prefix = /^(1*)0*$/.exec(bits)?.[1]?.length;
  const isInside = data.every((byte, i) => (byte & ~masked.mask[i]!) === 0);
  if (data.length !== length || prefix === undefined || !isInside || masked.xor.some((byte) => byte !== 0))
    return undefined;
  return `${formatIp(data)}/${prefix}`;
}

/** Any of these bits. */
function bitNames({ masked }: Field, names: readonly (readonly [number, string])[]): string | undefined {
  if (!masked || hostWord(masked.xor) !== 0) return undefined;
  const mask = hostWord(masked.mask);
  const known = names.filter(([bit]) => (mask & bit) !== 0);
  const isAll = known.reduce((sum, [bit]) => sum | bit, 0) === mask;
  return isAll && known.length > 0 ? known.map(([, name]) => name).join(',') : undefined;
}
