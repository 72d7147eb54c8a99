// A set of the kernel in our words. In: what a list says of it. Out: what its elements can be read by; undefined for kinds of sets
// that we never make, whose elements would be read wrongly.
import type { NftHeldSet, NftSet, NftType } from './nftables-objects.ts';
import {
  NFT_SET_ANONYMOUS,
  NFT_SET_CONSTANT,
  NFT_SET_EVAL,
  NFT_SET_INTERVAL,
  NFT_SET_MAP,
  NFT_SET_TIMEOUT,
  setFlags,
  valueTypeId,
} from './nftables-steps.ts';
import { typeId } from './nftables-values.ts';

const TYPES: ReadonlyMap<number, NftType> = new Map(
  (['integer', 'ipv4_addr', 'ipv6_addr', 'inet_proto', 'inet_service'] as const).map((type) => [typeId([type]), type]),
);

export function decodeSet({ name, flags, keyType, valueType, hasCounters }: NftHeldSet): NftSet | undefined {
  const key = typesOf(keyType);
  const isMap = (flags & NFT_SET_MAP) !== 0;
  const value = valueType === VERDICT ? 'verdict' : typesOf(valueType);
  if (!key || (isMap && !value)) return undefined;
  const set: NftSet = {
    name,
    key,
    ...(isMap && value && { value }),
    ...((flags & NFT_SET_INTERVAL) !== 0 && { isInterval: true }),
    ...((flags & NFT_SET_TIMEOUT) !== 0 && { hasTimeout: true }),
    ...((flags & NFT_SET_EVAL) !== 0 && { isDynamic: true }),
    ...(hasCounters && { hasCounters }),
  };
  // Ranges of anything but addresses, and what other flags tell of, are listed in ways of their own.
  const isKnown = setFlags(set) === (flags & ~(NFT_SET_ANONYMOUS | NFT_SET_CONSTANT));
  const isRead = !set.isInterval || (!isMap && (keyType === IPV4 || keyType === IPV6));
  return isKnown && isRead ? set : undefined;
}

const IPV4 = typeId(['ipv4_addr']);
const IPV6 = typeId(['ipv6_addr']);
const VERDICT = valueTypeId({ name: '', key: [], value: 'verdict' });

/** Six bits for each part, the first one highest. */
function typesOf(id: number): readonly NftType[] | undefined {
  const types: NftType[] = [];
  for (let rest = id; rest > 0; rest >>>= 6) {
    const type = TYPES.get(rest & 0x3f);
    if (!type) return undefined;
    types.unshift(type);
  }
  return types.length > 0 ? types : undefined;
}
