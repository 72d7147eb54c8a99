// In: an expression that fills a register.  Out: what is then in it, as nft calls it; undefined for parts of headers that have no name here.
import type { NftExpression } from '../../kernel/nftables-objects.ts';
import type { Family } from '../../lib/ip.ts';
import type { Loaded } from './nft-netlink-registers.ts';

const ADDRESSES = {
  IPv4: {
    type: 'ipv4_addr',
    bytes: 4,
    ip: 'ip',
    fields: new Map([
      [12, 'saddr'],
      [16, 'daddr'],
    ]),
  },
  IPv6: {
    type: 'ipv6_addr',
    bytes: 16,
    ip: 'ip6',
    fields: new Map([
      [8, 'saddr'],
      [24, 'daddr'],
    ]),
  },
} as const;
const PORTS: ReadonlyMap<number, string> = new Map([
  [0, 'sport'],
  [2, 'dport'],
]);

type Load = Extract<
  NftExpression,
  { kind: 'payload' | 'meta' | 'ct' | 'ct-original' | 'fib-type' | 'numgen-random' | 'immediate' }
>;

export function loadedBy(load: Load, family: Family): Loaded | undefined {
  const address = ADDRESSES[family];
  switch (load.kind) {
    case 'payload': {
      const port = PORTS.get(load.offset);
      if (load.base === 'transport')
        return port !== undefined && load.length === 2 ? field(port, 'inet_service', 2, true) : undefined;
      const name = address.fields.get(load.offset);
      // Fewer bytes than an address has are the beginning of one: nft loads no more than a network names.
      return name && load.length <= address.bytes
        ? field(`${address.ip} ${name}`, address.type, load.length)
        : undefined;
    }
    case 'meta':
      if (load.key === 'iifname') return field('iifname', 'device', 16);
      return load.key === 'mark' ? field('meta mark', 'mark', 4) : field('meta l4proto', 'inet_proto', 1);
    case 'ct':
      return field(`ct ${load.key}`, load.key, 4);
    case 'ct-original':
      if (load.key === 'proto-dst') return field('ct original proto-dst', 'inet_service', 2);
      return field(`ct original ${address.ip} daddr`, address.type, address.bytes);
    case 'fib-type':
      return field(`fib ${load.of} type`, 'address-type', 4);
    case 'numgen-random':
      return field(`numgen random mod ${load.modulus}${load.offset > 0 ? ` offset ${load.offset}` : ''}`, 'integer', 4);
    case 'immediate':
      return { kind: 'constant', data: load.data, bytes: load.data.length };
  }
}

function field(
  words: string,
  type: Extract<Loaded, { kind: 'field' }>['type'],
  bytes: number,
  isTransport = false,
): Loaded {
  return { kind: 'field', words, type, bytes, ...(isTransport && { isTransport }) };
}
