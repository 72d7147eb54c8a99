// In: words of a rule that do something.  Out: what they do; undefined, and nothing taken, if they do nothing that is known.
import { parseIp } from '../../lib/ip.ts';
import { takeSet } from './nft-matches.ts';
import { keyOf, takeSelectors } from './nft-selectors.ts';
import type { NftTokens } from './nft-tokens.ts';
import type { Statement } from './ruleset.ts';

export function parseStatement(tokens: NftTokens): readonly Statement[] | undefined {
  const parse = STATEMENTS[tokens.peek()];
  if (parse) {
    tokens.next();
    return parse(tokens);
  }
  if (tokens.take('meta', 'mark', 'set')) return [markStatement(tokens)];
  if (tokens.take('ct', 'mark', 'set'))
    return [tokens.take('meta', 'mark') ? { kind: 'save-mark' } : skipped(tokens, 'ct mark')];
  if (tokens.take('meta', 'nftrace', 'set') || tokens.take('meta', 'priority', 'set')) return [skipped(tokens, 'meta')];
  return undefined;
}

type ParseStatement = (tokens: NftTokens) => readonly Statement[];

const STATEMENTS: Readonly<Record<string, ParseStatement>> = {
  accept: () => [{ kind: 'accept' }],
  drop: () => [{ kind: 'drop' }],
  return: () => [{ kind: 'return' }],
  continue: () => [],
  jump: (tokens) => [{ kind: 'jump', chain: tokens.next() }],
  goto: (tokens) => [{ kind: 'goto', chain: tokens.next() }],
  notrack: () => [{ kind: 'untrack' }],
  reject: (tokens) => {
    if (!tokens.take('with')) return [{ kind: 'reject', with: 'port-unreachable' }];
    const words = [tokens.next(), tokens.next()];
    if (tokens.peek() === 'port-unreachable' || tokens.peek() === 'reset') words.push(tokens.next());
    return [
      {
        kind: 'reject',
        with: words.filter((word) => !['icmp', 'icmpv6', 'icmpx', 'type', 'code'].includes(word)).join('-'),
      },
    ];
  },
  masquerade: (tokens) => {
    while (['fully-random', 'random', 'persistent', ','].includes(tokens.peek())) tokens.next();
    return [{ kind: 'masquerade' }];
  },
  dnat: (tokens) => [dnat(tokens)],
  snat: (tokens) => {
    takeFamilyAndTo(tokens);
    const ip = parseIp(tokens.next());
    return [ip === undefined ? { kind: 'unknown', text: 'snat' } : { kind: 'snat', ip }];
  },
  redirect: (tokens) => [
    { kind: 'redirect', port: tokens.take('to') ? Number(tokens.next().replace(/^:/, '')) : undefined },
  ],
  counter: (tokens) => {
    if (tokens.take('packets')) {
      tokens.next();
      tokens.take('bytes');
      tokens.next();
    } else if (tokens.take('name')) tokens.next();
    return [];
  },
  log: (tokens) => {
    while (['prefix', 'level', 'group', 'flags', 'snaplen', 'queue-threshold'].includes(tokens.peek())) {
      tokens.next();
      tokens.next();
    }
    return [{ kind: 'note', name: 'log' }];
  },
  update: remember,
  add: remember,
};

function remember(tokens: NftTokens): readonly Statement[] {
  const set = tokens.next().replace(/^@/, '');
  tokens.block();
  return [{ kind: 'remember-in', set }];
}

function skipped(tokens: NftTokens, name: string): Statement {
  tokens.next();
  return { kind: 'note', name };
}

function takeFamilyAndTo(tokens: NftTokens): void {
  if (tokens.peek() === 'ip' || tokens.peek() === 'ip6') tokens.next();
  if (tokens.take('addr')) tokens.take('.', 'port');
  tokens.take('to');
}

/** `dnat ip to 10.0.0.1:80`, `dnat ip to ip daddr . tcp dport . numgen random mod 2 map @m`, `… ip saddr map @m : 80`. */
function dnat(tokens: NftTokens): Statement {
  takeFamilyAndTo(tokens);
  const selected = takeSelectors(tokens);
  const key = selected && keyOf(selected);
  if (key && tokens.take('map')) {
    const map = takeSet(tokens);
    if (tokens.take(':')) return { kind: 'dnat-map', key, map, port: Number(tokens.next()) };
    // nft lists `@map:80` for what it reads as `@map : 80`.
    const [name, port] = typeof map === 'string' ? map.split(':') : [map];
    return { kind: 'dnat-map', key, map: name!, port: port === undefined ? undefined : Number(port) };
  }
  const text = tokens.next();
  const [, host, port] = /^\[(.+)\](?::(\d+))?$/.exec(text) ?? /^([\d.]*)(?::(\d+))?$/.exec(text) ?? ['', text];
  const ip = host === '' ? undefined : parseIp(host!);
  if (host !== '' && ip === undefined) return { kind: 'unknown', text: `dnat to ${text}` };
  return { kind: 'dnat', ip, port: port === undefined ? undefined : Number(port) };
}

/** `meta mark set 0x1`, `set meta mark | 0x4000`, `set meta mark & 0xff ^ 0x1`. */
function markStatement(tokens: NftTokens): Statement {
  if (!tokens.take('meta', 'mark')) {
    const value = Number(tokens.next());
    return Number.isNaN(value)
      ? { kind: 'unknown', text: 'meta mark set' }
      : { kind: 'mark', keep: 0, flip: value >>> 0 };
  }
  let keep = 0xffffffff;
  let flip = 0;
  for (;;) {
    if (tokens.take('&')) {
      const mask = Number(tokens.next()) >>> 0;
      keep = (keep & mask) >>> 0;
      flip = (flip & mask) >>> 0;
    } else if (tokens.take('|')) {
      const bits = Number(tokens.next()) >>> 0;
      keep = (keep & ~bits) >>> 0;
      flip = (flip | bits) >>> 0;
    } else if (tokens.take('^')) flip = (flip ^ Number(tokens.next())) >>> 0;
    else return { kind: 'mark', keep, flip };
  }
}
