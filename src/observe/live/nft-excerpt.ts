// In: a set of the proxy's table, and what packets are asked about.  Out: which of its rows such packets can find.
import type { NftHeldElement, NftSet } from '../../kernel/nftables-objects.ts';
import { fixedSets } from '../../modes/nftables/sets.ts';
import { type Concern, isConcerned } from './concern.ts';

/** The sets that Services are rows of begin with an address and have a port, or begin with the port. In others all rows count. */
export function rowTest({ name, key: types }: NftSet, concern: Concern): (row: NftHeldElement) => boolean {
  if (!ROWS_OF_SERVICES.has(name)) return () => true;
  const portAt = types.indexOf('inet_service');
  const isByAddress = types[0] === 'ipv4_addr' || types[0] === 'ipv6_addr';
  if (!isByAddress && portAt < 0) return () => true;
  return ({ key }) => {
    const parts = key.split(' . ');
    const port = portAt < 0 ? undefined : Number(parts[portAt]);
    // A row that stands for all other keys has none.
    if (key === '') return true;
    return isByAddress ? isConcerned(concern, parts[0]!, port) : concern.ports.has(port!);
  };
}

const ROWS_OF_SERVICES: ReadonlySet<string> = new Set(
  fixedSets({ family: 'IPv4', hasCounters: false, hasNodePortIps: false }).map(({ name }) => name),
);
