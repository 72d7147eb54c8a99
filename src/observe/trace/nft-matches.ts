// In: words of a rule that ask something.  Out: what they ask, and with `vmap` what then happens.
import { hostCidr, parseCidr, parseIp } from '../../lib/ip.ts';
import { anonymousSet, splitAt } from './nft-elements.ts';
import { keyOf, type Selected, takeSelectors } from './nft-selectors.ts';
import { type NftTokens, unquoted } from './nft-tokens.ts';
import type { ElementSet, KeyPart, Match, MatchKind, Statement } from './ruleset.ts';

export interface Found {
  readonly matches: readonly Match[];
  readonly statements: readonly Statement[];
}

export function parseMatch(tokens: NftTokens): Found | undefined {
  const selected = takeSelectors(tokens);
  if (!selected) return undefined;
  const key = keyOf(selected);
  if (tokens.take('vmap')) {
    const map = takeSet(tokens);
    const statements: Statement[] = key ? [{ kind: 'verdict-map', key, map }] : [{ kind: 'unknown', text: 'vmap' }];
    return { matches: selected.implied, statements };
  }
  const match = comparison(selected, key, tokens);
  return { matches: [...selected.implied, match], statements: [] };
}

/** `@name`, or `{ … }`. */
export function takeSet(tokens: NftTokens): string | ElementSet {
  return tokens.peek() === '{' ? anonymousSet(tokens.block()) : tokens.next().replace(/^@/, '');
}

function comparison(selected: Selected, key: readonly KeyPart[] | undefined, tokens: NftTokens): Match {
  const [selector] = selected.selectors;
  if (tokens.take('&')) return maskedMark(tokens);
  const not = tokens.take('!=');
  tokens.take('==');
  if (tokens.peek().startsWith('@') || (key && tokens.peek() === '{')) {
    const set = takeSet(tokens);
    return key
      ? { not, kind: 'element', key, set }
      : { not, kind: 'unknown', text: `@${typeof set === 'string' ? set : 'set'}` };
  }
  const values = tokens.peek() === '{' ? splitAt(tokens.block(), ',').map(([value]) => value ?? '') : listOf(tokens);
  if (selected.selectors.length > 1 || !selector) return { not, kind: 'unknown', text: values.join(' . ') };
  return {
    not,
    ...(plainMatch(selector, values.map(unquoted)) ?? { kind: 'unknown', text: values.join(' ') }),
  };
}

/** `established,related` comes as words with commas between. */
function listOf(tokens: NftTokens): string[] {
  const values = [tokens.next()];
  while (tokens.take(',')) values.push(tokens.next());
  return values;
}

/** `meta mark & 0x4000 != 0x0`, `meta mark & 0x4000 == 0x4000`. */
function maskedMark(tokens: NftTokens): Match {
  const mask = Number(tokens.next()) >>> 0;
  const not = tokens.take('!=');
  tokens.take('==');
  return { not, kind: 'mark', value: Number(tokens.next()) >>> 0, mask };
}

function plainMatch(selector: Selected['selectors'][number], values: readonly string[]): MatchKind | undefined {
  const [value = ''] = values;
  switch (selector.kind) {
    case 'ct-state':
      return { kind: 'state', states: values.map((state) => state.toUpperCase()) };
    case 'ct-status':
      return values.every((status) => status === 'dnat' || status === 'snat')
        ? { kind: 'state', states: values.map((status) => status.toUpperCase()) }
        : undefined;
    case 'fib-src':
    case 'fib-dst':
      return {
        kind: 'address-type',
        field: selector.kind === 'fib-src' ? 'src' : 'dst',
        type: values.join().toUpperCase(),
      };
    case 'device': {
      const isPrefix = value.endsWith('*');
      if (values.length !== 1) return undefined;
      return {
        kind: 'interface',
        direction: selector.direction,
        name: isPrefix ? value.slice(0, -1) : value,
        isPrefix,
      };
    }
    case 'key':
      return selector.part.kind === 'field' && values.length === 1 ? fieldMatch(selector.part.field, value) : undefined;
  }
}

function fieldMatch(field: Extract<KeyPart, { kind: 'field' }>['field'], value: string): MatchKind | undefined {
  switch (field) {
    case 'src':
    case 'dst': {
      if (value.includes('-')) {
        const [from, to] = value.split('-') as [string, string];
        return { kind: 'range', field, from, to };
      }
      const ip = parseIp(value);
      const cidr = ip === undefined ? parseCidr(value) : hostCidr(ip);
      return cidr === undefined ? undefined : { kind: 'network', field, cidr };
    }
    case 'protocol':
      return { kind: 'protocol', protocol: value };
    case 'src-port':
    case 'dst-port': {
      const [low, high = low] = value.split('-').map(Number) as [number, number | undefined];
      return Number.isNaN(low)
        ? undefined
        : { kind: 'ports', field: field === 'src-port' ? 'src' : 'dst', ranges: [[low, high]] };
    }
    case 'mark':
      return { kind: 'mark', value: Number(value) >>> 0, mask: 0xffffffff };
    case 'original-dst': {
      const ip = parseIp(value);
      return ip === undefined ? undefined : { kind: 'original-destination', cidr: hostCidr(ip) };
    }
    case 'original-dst-port':
      return { kind: 'original-destination', ports: [Number(value), Number(value)] };
  }
}
