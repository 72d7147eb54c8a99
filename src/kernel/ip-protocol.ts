// The numbers of the transport protocols that Services know, as packets and netlink carry them.
import type { Protocol } from '../api/objects.ts';

export const IP_PROTOCOL: Readonly<Record<Protocol, number>> = { TCP: 6, UDP: 17, SCTP: 132 };

const NAMES = new Map(Object.entries(IP_PROTOCOL).map(([name, number]) => [number, name as Protocol]));

/** Undefined for a protocol that no Service can have. */
export function protocolOf(number: number): Protocol | undefined {
  return NAMES.get(number);
}
