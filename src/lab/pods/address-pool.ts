// The pod addresses of one node. What was given back is given out again only when the rest has been, so that an old address
// in a packet or a rule is not at once somebody else's.
import { familyOf } from '../../lib/ip.ts';
import { addressAt } from '../apiserver/allocations.ts';

/** The first place is the network's own and the second usually the node's bridge. */
const FIRST = 2;
const LAST = 254;

export class AddressPool {
  readonly #cidrs: readonly string[];
  readonly #taken = new Set<number>();
  #next = FIRST;

  constructor(cidrs: readonly string[]) {
    this.#cidrs = cidrs;
  }

  /** One address of each family, with the same last digits. */
  take(): readonly string[] {
    const size = Math.min(...this.#cidrs.map((cidr) => placesIn(cidr)), LAST);
    for (let tries = FIRST; tries <= size; tries++) {
      const place = this.#next;
      this.#next = place < size ? place + 1 : FIRST;
      if (this.#taken.has(place)) continue;
      this.#taken.add(place);
      return this.#cidrs.map((cidr) => addressAt(cidr, BigInt(place)));
    }
    throw new Error(`no pod address is left in ${this.#cidrs.join(', ')}`);
  }

  release(ips: readonly string[]): void {
    for (const place of this.#taken)
      if (addressAt(this.#cidrs[0]!, BigInt(place)) === ips[0]) this.#taken.delete(place);
  }
}

/** The last place that may be used. */
function placesIn(cidr: string): number {
  const bits = (familyOf(cidr) === 'IPv4' ? 32 : 128) - Number(cidr.slice(cidr.indexOf('/') + 1));
  return bits > 16 ? LAST : 2 ** bits - 2;
}
