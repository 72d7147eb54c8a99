// In: the expressions of a held rule, and the sets they name.  Out: the rule as nft prints it; undefined where they do what these words
// cannot say, so that a rule is either read right or not at all.
import type { NftExpression, NftSet, NftType } from '../../kernel/nftables-objects.ts';
import { decodeValue, formatVerdict, typeLength, valueTypes } from '../../kernel/nftables-values.ts';
import type { Family } from '../../lib/ip.ts';
import { comparisonText, hex, hostWord } from './nft-netlink-compare.ts';
import { loadedBy } from './nft-netlink-load.ts';
import { type Loaded, pieceOf, pieces, Registers } from './nft-netlink-registers.ts';

export interface ReadSet {
  readonly set: NftSet;
  /** Of a set without a name: its elements, as they stand in the rule. */
  readonly inline?: string;
}

export function ruleWords(
  expressions: readonly NftExpression[],
  family: Family,
  sets: ReadonlyMap<string, ReadSet>,
): string | undefined {
  const reader = new RuleReader(family, sets);
  return expressions.every((expression) => reader.read(expression)) ? reader.text : undefined;
}

class RuleReader {
  readonly #ip: 'ip' | 'ip6';
  readonly #family: Family;
  readonly #sets: ReadonlyMap<string, ReadSet>;
  readonly #registers = new Registers();
  readonly #words: string[] = [];
  /** `meta l4proto tcp`, and where it stands: nft leaves it out where it says `tcp dport` later. */
  #transport: { readonly name: string; readonly at: number } | undefined;
  /** A looked-up value that is not there ends the rule, so one that nothing takes is a condition that no word tells of. */
  #untaken = 0;
  #hasActed = false;

  constructor(family: Family, sets: ReadonlyMap<string, ReadSet>) {
    this.#family = family;
    this.#ip = family === 'IPv4' ? 'ip' : 'ip6';
    this.#sets = sets;
  }

  get text(): string | undefined {
    return this.#untaken === 0 ? this.#words.filter((word) => word !== '').join(' ') : undefined;
  }

  /** False: this cannot be told. */
  read(expression: NftExpression): boolean {
    switch (expression.kind) {
      case 'compare':
        return this.#compare(expression);
      case 'bitwise':
        return this.#mask(expression);
      case 'lookup':
        return this.#lookup(expression);
      case 'meta-set':
        return this.#act(markWords(this.#registers.at(expression.register)));
      case 'dnat':
        return this.#act(this.#dnat(expression));
      case 'update':
        return this.#act(this.#update(expression));
      case 'masquerade':
        return this.#act(expression.isFullyRandom ? 'masquerade fully-random' : 'masquerade');
      case 'reject-port-unreachable':
        return this.#act('reject');
      case 'verdict':
        return this.#act(formatVerdict(expression.verdict));
      default: {
        const loaded = loadedBy(expression, this.#family);
        if (loaded) this.#registers.load(expression.register, loaded);
        return loaded !== undefined;
      }
    }
  }

  /** Conditions are all asked before anything is done, so one that stands behind would be told wrongly. */
  #ask(words: string | undefined): boolean {
    if (words === undefined || this.#hasActed) return false;
    this.#words.push(words);
    return true;
  }

  /** What was loaded before may be another value now. */
  #act(words: string | undefined): boolean {
    if (words === undefined) return false;
    this.#words.push(words);
    this.#registers.clear();
    this.#hasActed = true;
    return true;
  }

  #compare({ register, is, data }: Extract<NftExpression, { kind: 'compare' }>): boolean {
    const loaded = this.#registers.at(register);
    if (loaded?.kind !== 'field') return false;
    const value = comparisonText(loaded, is === 'not-equal', data);
    if (value === undefined) return false;
    const selector = this.#selector(loaded);
    if (!this.#ask(`${selector} ${value}`)) return false;
    if (loaded.type === 'inet_proto' && is === 'equal' && ['tcp', 'udp', 'sctp'].includes(value))
      this.#transport = { name: value, at: this.#words.length - 1 };
    return true;
  }

  #mask({ register, mask, xor }: Extract<NftExpression, { kind: 'bitwise' }>): boolean {
    const loaded = this.#registers.at(register);
    if (loaded?.kind !== 'field' || loaded.masked || loaded.bytes !== mask.length) return false;
    this.#registers.load(register, { ...loaded, masked: { mask, xor } });
    return true;
  }

  #lookup({ set: name, register, isNegated, into }: Extract<NftExpression, { kind: 'lookup' }>): boolean {
    const found = typeof name === 'string' ? this.#sets.get(name) : undefined;
    const key = found && this.#keyWords(register, found.set.key);
    if (!found || key === undefined) return false;
    const { set, inline } = found;
    const reference = inline ?? `@${set.name}`;
    if (into === undefined) return set.value === undefined && this.#ask(`${key}${isNegated ? ' !=' : ''} ${reference}`);
    if (isNegated) return false;
    if (into === 0) return set.value === 'verdict' && this.#act(`${key} vmap ${reference}`);
    const words = `${key} map ${reference}`;
    let at = 8 + pieceOf(into);
    for (const [part, type] of valueTypes(set).entries()) {
      const bytes = typeLength([type]);
      this.#registers.load(at, { kind: 'mapped', key: words, map: set, part, bytes });
      at += pieces(bytes);
    }
    this.#untaken++;
    return valueTypes(set).length > 0;
  }

  /** To what a map has, with its port or a constant one; or to a constant. */
  #dnat({ addressRegister, portRegister }: Extract<NftExpression, { kind: 'dnat' }>): string | undefined {
    const address = this.#registers.at(addressRegister);
    const port = this.#registers.at(portRegister);
    const addressType: NftType = this.#family === 'IPv4' ? 'ipv4_addr' : 'ipv6_addr';
    const constantPort =
      port?.kind === 'constant' && port.bytes === 2 ? decodeValue(['inet_service'], port.data) : undefined;
    if (address?.kind === 'constant' && address.bytes === typeLength([addressType]) && constantPort) {
      const ip = decodeValue([addressType], address.data);
      return `dnat to ${this.#family === 'IPv4' ? ip : `[${ip}]`}:${constantPort}`;
    }
    if (address?.kind !== 'mapped' || address.part !== 0 || valueTypes(address.map)[0] !== addressType)
      return undefined;
    const isMappedPort =
      port?.kind === 'mapped' &&
      port.key === address.key &&
      port.part === 1 &&
      valueTypes(port.map)[1] === 'inet_service';
    if (!isMappedPort && (constantPort === undefined || valueTypes(address.map).length !== 1)) return undefined;
    this.#untaken--;
    return `dnat ${this.#ip} to ${address.key}${isMappedPort ? '' : ` : ${constantPort}`}`;
  }

  #update(update: Extract<NftExpression, { kind: 'update' }>): string | undefined {
    const set = this.#sets.get(update.map)?.set;
    const key = set && this.#keyWords(update.keyRegister, set.key);
    const value = set && this.#keyWords(update.valueRegister, valueTypes(set));
    if (!key || !value) return undefined;
    return `update @${update.map} { ${key} timeout ${durationText(update.timeoutSeconds)} : ${value} }`;
  }

  #keyWords(register: number, types: readonly NftType[]): string | undefined {
    return this.#registers
      .key(register, types)
      ?.map((part) => this.#selector(part))
      .join(' . ');
  }

  #selector({ words, isTransport }: Extract<Loaded, { kind: 'field' }>): string {
    if (!isTransport) return words;
    if (this.#transport) this.#words[this.#transport.at] = '';
    return `${this.#transport?.name ?? 'th'} ${words}`;
  }
}

/** mark = (mark & keep) ^ flip, in the fewest words. */
function markWords(loaded: Loaded | undefined): string | undefined {
  if (loaded?.kind === 'constant' && loaded.bytes === 4) return `meta mark set ${hex(hostWord(loaded.data))}`;
  if (loaded?.kind !== 'field' || loaded.type !== 'mark' || !loaded.masked) return undefined;
  const keep = hostWord(loaded.masked.mask);
  const flip = hostWord(loaded.masked.xor);
  if (keep === ~flip >>> 0) return `meta mark set meta mark | ${hex(flip)}`;
  if (keep === 0xffffffff) return `meta mark set meta mark ^ ${hex(flip)}`;
  return `meta mark set meta mark & ${hex(keep)}${flip === 0 ? '' : ` ^ ${hex(flip)}`}`;
}

const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
  ['s', 1],
] as const;

/** `3h`, `1m30s` */
function durationText(seconds: number): string {
  let rest = seconds;
  let text = '';
  for (const [unit, size] of UNITS) {
    if (rest >= size) text += `${Math.floor(rest / size)}${unit}`;
    rest %= size;
  }
  return text || '0s';
}
