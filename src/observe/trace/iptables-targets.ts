// In: the words of a rule from its target on.  Out: what it does.
import { parseIp } from '../../lib/ip.ts';
import { ALL_BITS, valueAndMask, type Words } from './iptables-words.ts';
import type { Statement } from './ruleset.ts';

export function statementsOf(words: Words): readonly Statement[] {
  const isGoto = words.next() === '-g';
  const target = words.next();
  const known = TARGETS[target];
  if (known) {
    const options = words.until(() => false);
    const text = ['-j', target, ...options].join(' ');
    return [known(optionsOf(options), text)];
  }
  if (FOREIGN_TARGETS.has(target)) {
    return [{ kind: 'unknown', text: ['-j', target, ...words.until(() => false)].join(' ') }];
  }
  return [{ kind: isGoto ? 'goto' : 'jump', chain: target }];
}

type Options = ReadonlyMap<string, string>;

const TARGETS: Readonly<Record<string, (options: Options, text: string) => Statement>> = {
  ACCEPT: () => ({ kind: 'accept' }),
  DROP: () => ({ kind: 'drop' }),
  RETURN: () => ({ kind: 'return' }),
  REJECT: (options) => ({
    kind: 'reject',
    with: (options.get('--reject-with') ?? 'port-unreachable').replace(/^icmp6?-/, ''), // the same word in both families
  }),
  DNAT: (options, text) => destination(options.get('--to-destination') ?? '', text),
  SNAT: (options, text) => {
    const ip = hostPortOf(options.get('--to-source') ?? '')?.ip;
    return ip === undefined ? { kind: 'unknown', text } : { kind: 'snat', ip };
  },
  MASQUERADE: () => ({ kind: 'masquerade' }),
  REDIRECT: (options, text) => {
    const ports = options.get('--to-ports');
    if (ports?.includes('-')) return { kind: 'unknown', text };
    return { kind: 'redirect', port: ports === undefined ? undefined : Number(ports) };
  },
  MARK: (options, text) => {
    const operation = markOperation(options);
    return operation ? { kind: 'mark', ...operation } : { kind: 'unknown', text };
  },
  CONNMARK: (options, text) => {
    if (options.has('--save-mark')) return { kind: 'save-mark' };
    if (options.has('--restore-mark')) return { kind: 'restore-mark' };
    const operation = markOperation(options);
    return operation ? { kind: 'connection-mark', ...operation } : { kind: 'unknown', text };
  },
  NOTRACK: () => ({ kind: 'untrack' }),
  CT: (options) => (options.has('--notrack') ? { kind: 'untrack' } : { kind: 'note', name: 'CT' }),
  ...Object.fromEntries(
    ['LOG', 'NFLOG', 'ULOG', 'TRACE', 'AUDIT', 'CHECKSUM', 'TCPMSS', 'CLASSIFY', 'DSCP', 'TOS', 'TTL', 'HL', 'SET'].map(
      (name) => [name, (): Statement => ({ kind: 'note', name })],
    ),
  ),
};

/** Targets that decide or change something in ways that are not followed here. Any other name is a chain's. */
const FOREIGN_TARGETS = new Set([
  ...['QUEUE', 'NFQUEUE', 'TPROXY', 'NETMAP', 'SYNPROXY', 'TARPIT', 'CLUSTERIP', 'SNPT', 'DNPT', 'TEE', 'IDLETIMER'],
  ...['HMARK', 'RATEEST', 'SECMARK', 'CONNSECMARK', 'LED'],
]);

/** `--option`, with the word after it unless that is an option too. */
function optionsOf(words: readonly string[]): Options {
  return new Map(
    words.flatMap((word, i) => {
      if (!word.startsWith('--')) return [];
      const value = words[i + 1];
      return [[word, value === undefined || value.startsWith('--') ? '' : value] as const];
    }),
  );
}

function destination(text: string, whole: string): Statement {
  const to = hostPortOf(text);
  return to ? { kind: 'dnat', ...to } : { kind: 'unknown', text: whole };
}

/** `10.0.0.1:80`, `10.0.0.1`, `:80`, `[fd00::1]:80`; undefined for ranges, of which the kernel chooses. */
function hostPortOf(text: string): { readonly ip: string | undefined; readonly port: number | undefined } | undefined {
  const [, host, port] = /^\[(.+)\](?::(\d+))?$/.exec(text) ?? /^([\d.]*)(?::(\d+))?$/.exec(text) ?? ['', text];
  const ip = host === '' ? undefined : parseIp(host!);
  if (host !== '' && ip === undefined) return undefined;
  return { ip, port: port === undefined ? undefined : Number(port) };
}

/** What each option makes of a mark: mark = (mark & keep) ^ flip. */
function markOperation(options: Options): { readonly keep: number; readonly flip: number } | undefined {
  const of = (name: string): { readonly value: number; readonly mask: number } | undefined => {
    const text = options.get(name);
    return text === undefined ? undefined : valueAndMask(text);
  };
  const xmark = of('--set-xmark');
  if (xmark) return { keep: ~xmark.mask >>> 0, flip: xmark.value };
  const set = of('--set-mark');
  if (set) return { keep: (~set.mask & ~set.value) >>> 0, flip: set.value };
  const or = of('--or-mark');
  if (or) return { keep: ~or.value >>> 0, flip: or.value };
  const and = of('--and-mark');
  if (and) return { keep: and.value, flip: 0 };
  const xor = of('--xor-mark');
  return xor && { keep: ALL_BITS, flip: xor.value };
}
