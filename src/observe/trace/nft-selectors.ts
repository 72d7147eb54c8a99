// What a rule of nft asks about: `ip daddr . meta l4proto . th dport`, `numgen random mod 3`, `ct state`.
import type { NftTokens } from './nft-tokens.ts';
import type { KeyPart, Match } from './ruleset.ts';

export type Selector =
  | { readonly kind: 'key'; readonly part: KeyPart }
  | { readonly kind: 'device'; readonly direction: 'in' | 'out' }
  | { readonly kind: 'ct-state' | 'ct-status' | 'fib-src' | 'fib-dst' };

export interface Selected {
  readonly selectors: readonly Selector[];
  /** `tcp dport` asks for TCP too. */
  readonly implied: readonly Match[];
}

const FIELDS: readonly [readonly string[], KeyPart][] = [
  [['ip', 'saddr'], { kind: 'field', field: 'src' }],
  [['ip6', 'saddr'], { kind: 'field', field: 'src' }],
  [['ip', 'daddr'], { kind: 'field', field: 'dst' }],
  [['ip6', 'daddr'], { kind: 'field', field: 'dst' }],
  [['ip', 'protocol'], { kind: 'field', field: 'protocol' }],
  [['ip6', 'nexthdr'], { kind: 'field', field: 'protocol' }],
  [['meta', 'l4proto'], { kind: 'field', field: 'protocol' }],
  [['th', 'dport'], { kind: 'field', field: 'dst-port' }],
  [['th', 'sport'], { kind: 'field', field: 'src-port' }],
  [['meta', 'mark'], { kind: 'field', field: 'mark' }],
  [['ct', 'original', 'ip', 'daddr'], { kind: 'field', field: 'original-dst' }],
  [['ct', 'original', 'ip6', 'daddr'], { kind: 'field', field: 'original-dst' }],
  [['ct', 'original', 'proto-dst'], { kind: 'field', field: 'original-dst-port' }],
];

const OTHERS: readonly [readonly string[], Selector][] = [
  [['ct', 'state'], { kind: 'ct-state' }],
  [['ct', 'status'], { kind: 'ct-status' }],
  [['fib', 'saddr', 'type'], { kind: 'fib-src' }],
  [['fib', 'daddr', 'type'], { kind: 'fib-dst' }],
  ...(['iifname', 'iif'] as const).flatMap((word): [readonly string[], Selector][] => [
    [[word], { kind: 'device', direction: 'in' }],
    [['meta', word], { kind: 'device', direction: 'in' }],
  ]),
  ...(['oifname', 'oif'] as const).flatMap((word): [readonly string[], Selector][] => [
    [[word], { kind: 'device', direction: 'out' }],
    [['meta', word], { kind: 'device', direction: 'out' }],
  ]),
];

/** One selector, or several joined with dots; undefined, and nothing taken, if the first word is none. */
export function takeSelectors(tokens: NftTokens): Selected | undefined {
  const selectors: Selector[] = [];
  const implied: Match[] = [];
  do {
    const selector = takeSelector(tokens, implied);
    if (!selector) return undefined;
    selectors.push(selector);
  } while (tokens.take('.'));
  return { selectors, implied };
}

function takeSelector(tokens: NftTokens, implied: Match[]): Selector | undefined {
  for (const [words, part] of FIELDS) if (tokens.take(...words)) return { kind: 'key', part };
  for (const [words, selector] of OTHERS) if (tokens.take(...words)) return selector;
  if (tokens.take('numgen', 'random', 'mod')) {
    const count = Number(tokens.next());
    const offset = tokens.take('offset') ? Number(tokens.next()) : 0;
    return { kind: 'key', part: { kind: 'draw', count, offset } };
  }
  const protocol = tokens.peek();
  const side = tokens.peek(1);
  if (!['tcp', 'udp', 'sctp'].includes(protocol) || (side !== 'dport' && side !== 'sport')) return undefined;
  tokens.take(protocol, side);
  implied.push({ not: false, kind: 'protocol', protocol });
  return { kind: 'key', part: { kind: 'field', field: side === 'dport' ? 'dst-port' : 'src-port' } };
}

export function keyOf({ selectors }: Selected): readonly KeyPart[] | undefined {
  const parts = selectors.flatMap((selector) => (selector.kind === 'key' ? [selector.part] : []));
  return parts.length === selectors.length ? parts : undefined;
}
