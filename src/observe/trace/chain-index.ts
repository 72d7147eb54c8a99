// In: a chain with thousands of rules, and where a packet goes.  Out: the few rules that could match it, in the chain's order.
// Leaving out those that name another destination changes no answer, and makes a walk's cost independent of the cluster's size.
import type { Chain, Match, Rule } from './ruleset.ts';

const WORTH_INDEXING = 8;

export class ChainIndex {
  readonly #indexes = new WeakMap<Chain, Index>();

  rulesFor(chain: Chain, dst: string, dstPort: number): readonly Rule[] {
    if (chain.rules.length < WORTH_INDEXING) return chain.rules;
    let index = this.#indexes.get(chain);
    if (!index) {
      index = indexOf(chain.rules);
      this.#indexes.set(chain, index);
    }
    if (index.isUseless) return chain.rules;
    const places = [
      ...index.anywhere,
      ...(index.byAddress.get(dst) ?? NOWHERE),
      ...(index.byPort.get(dstPort) ?? NOWHERE),
    ];
    return places.sort((a, b) => a - b).map((place) => chain.rules[place]!);
  }
}

const NOWHERE: readonly number[] = [];

interface Index {
  readonly byAddress: ReadonlyMap<string, readonly number[]>;
  readonly byPort: ReadonlyMap<number, readonly number[]>;
  readonly anywhere: readonly number[];
  readonly isUseless: boolean;
}

function indexOf(rules: readonly Rule[]): Index {
  const byAddress = new Map<string, number[]>();
  const byPort = new Map<number, number[]>();
  const anywhere: number[] = [];
  for (const [place, rule] of rules.entries()) {
    const address = rule.matches.map(oneAddress).find((found) => found !== undefined);
    const port = address === undefined ? rule.matches.map(onePort).find((found) => found !== undefined) : undefined;
    if (address !== undefined) push(byAddress, address, place);
    else if (port !== undefined) push(byPort, port, place);
    else anywhere.push(place);
  }
  return { byAddress, byPort, anywhere, isUseless: anywhere.length > rules.length / 2 };
}

function oneAddress(match: Match): string | undefined {
  if (match.kind !== 'network' || match.not || match.field !== 'dst') return undefined;
  return /^(.*)\/(?:32|128)$/.exec(match.cidr)?.[1];
}

function onePort(match: Match): number | undefined {
  if (match.kind !== 'ports' || match.not || match.field !== 'dst') return undefined;
  const [only, ...others] = match.ranges;
  return only && others.length === 0 && only[0] === only[1] ? only[0] : undefined;
}

function push<K>(into: Map<K, number[]>, key: K, place: number): void {
  const places = into.get(key);
  if (places) places.push(place);
  else into.set(key, [place]);
}
