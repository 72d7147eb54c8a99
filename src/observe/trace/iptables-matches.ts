// In: the words of a rule in front of its target.  Out: its matches. Extensions that are not known keep their words.
import { hostCidr, parseCidr, parseIp } from '../../lib/ip.ts';
import { fraction, probabilityOf } from './fraction.ts';
import { valueAndMask, type Words } from './iptables-words.ts';
import type { Match, MatchKind, PortRange } from './ruleset.ts';

export function matchesOf(words: Words): Match[] {
  const matches: Match[] = [];
  let extension = '';
  while (!words.isEmpty) {
    const not = words.take('!');
    const word = words.next();
    if (word === '-m') {
      extension = words.next();
      matches.push(...extensionMatches(extension, words));
      continue;
    }
    const option = PLAIN[word] ?? EXTENSION_OPTIONS[extension]?.[word] ?? PORT_OPTIONS[word];
    const match = option ? option(words) : ({ kind: 'unknown', text: [word, ...restOf(words)].join(' ') } as const);
    if (match) matches.push({ not, ...match });
  }
  return matches;
}

/** Extensions that are understood as a whole, or not at all; the options of others follow one by one. */
function extensionMatches(name: string, words: Words): readonly Match[] {
  if (EXTENSION_OPTIONS[name]) return [];
  const own = words.until(isElsewhere);
  if (NEUTRAL_EXTENSIONS.has(name)) return [];
  const match = WHOLE_EXTENSIONS[name]?.(own);
  return [match ?? { not: false, kind: 'unknown', text: ['-m', name, ...own].join(' ') }];
}

/** An extension's options end where another extension or one of iptables' own options begins. */
function isElsewhere(word: string): boolean {
  return word in PLAIN || word === '-m';
}

function restOf(words: Words): string[] {
  return words.until((next) => next.startsWith('-'));
}

type ParseOption = (words: Words) => MatchKind | undefined;

/** iptables' own options. */
const PLAIN: Readonly<Record<string, ParseOption>> = {
  '-s': (words) => network('src', words.next()),
  '-d': (words) => network('dst', words.next()),
  '-i': (words) => networkInterface('in', words.next()),
  '-o': (words) => networkInterface('out', words.next()),
  '-p': (words) => {
    const protocol = protocolName(words.next());
    return protocol === 'all' || protocol === '0' ? undefined : { kind: 'protocol', protocol };
  },
  '-4': () => undefined,
  '-6': () => undefined,
};

const PROTOCOL_NAMES: Readonly<Record<string, string>> = {
  '1': 'icmp',
  '6': 'tcp',
  '17': 'udp',
  '58': 'ipv6-icmp',
  '132': 'sctp',
  icmpv6: 'ipv6-icmp',
};

function protocolName(text: string): string {
  const name = text.toLowerCase();
  return PROTOCOL_NAMES[name] ?? name;
}

const PORT_OPTIONS: Readonly<Record<string, ParseOption>> = {
  '--dport': (words) => ports('dst', words.next()),
  '--dports': (words) => ports('dst', words.next()),
  '--sport': (words) => ports('src', words.next()),
  '--sports': (words) => ports('src', words.next()),
  '--ports': (words) => ports('either', words.next()),
};

const EXTENSION_OPTIONS: Readonly<Record<string, Readonly<Record<string, ParseOption>>>> = {
  tcp: { '--syn': () => SYN, '--tcp-flags': tcpFlags },
  udp: {},
  sctp: {},
  dccp: {},
  udplite: {},
  multiport: {},
  conntrack: {
    '--ctstate': (words) => states(words.next()),
    '--ctorigdst': (words) => ({ kind: 'original-destination', cidr: asCidr(words.next()) }),
    '--ctorigdstport': (words) => ({ kind: 'original-destination', ports: portRange(words.next()) }),
  },
  state: { '--state': (words) => states(words.next()) },
  mark: { '--mark': (words) => ({ kind: 'mark', ...valueAndMask(words.next()) }) },
  addrtype: {
    '--src-type': (words) => ({ kind: 'address-type', field: 'src', type: words.next() }),
    '--dst-type': (words) => ({ kind: 'address-type', field: 'dst', type: words.next() }),
  },
  set: {
    '--match-set': (words) => ({ kind: 'ip-set', set: words.next(), directions: words.next().split(',') }),
  },
  physdev: { '--physdev-is-in': () => ({ kind: 'bridged' }) },
  ipvs: {
    '--ipvs': () => ({ kind: 'virtual-server', field: 'any', value: '' }),
    '--vaddr': (words) => ({ kind: 'virtual-server', field: 'ip', value: asCidr(words.next()) }),
    '--vproto': (words) => ({ kind: 'virtual-server', field: 'protocol', value: protocolName(words.next()) }),
    '--vport': (words) => ({ kind: 'virtual-server', field: 'port', value: words.next() }),
  },
  iprange: {
    '--src-range': (words) => addressRange('src', words.next()),
    '--dst-range': (words) => addressRange('dst', words.next()),
  },
};

/** They count or say something, and always match. */
const NEUTRAL_EXTENSIONS = new Set(['comment', 'nfacct']);

const WHOLE_EXTENSIONS: Readonly<Record<string, (words: readonly string[]) => Match | undefined>> = {
  statistic: (words) => {
    const not = words.includes('!');
    if (after(words, '--mode') === 'random') {
      const probability = probabilityOf(after(words, '--probability') ?? '');
      return probability && { not, kind: 'chance', probability };
    }
    const every = Number(after(words, '--every'));
    return every > 0 ? { not, kind: 'chance', probability: fraction(1, every) } : undefined;
  },
  recent: (words) => {
    const not = words[0] === '!';
    const list = after(words, '--name') ?? 'DEFAULT';
    if (words.includes('--set')) return { not, kind: 'remember', list };
    if (words.some((word) => ['--hitcount', '--rdest', '--rttl', '--remove'].includes(word))) return undefined;
    const seconds = Number(after(words, '--seconds')) || undefined;
    return { not, kind: 'remembered', list, seconds };
  },
};

function after(words: readonly string[], option: string): string | undefined {
  const at = words.indexOf(option);
  return at < 0 ? undefined : words[at + 1];
}

function network(field: 'src' | 'dst', text: string): MatchKind {
  const cidr = asCidr(text);
  return cidr
    ? { kind: 'network', field, cidr }
    : { kind: 'unknown', text: `${field === 'src' ? '-s' : '-d'} ${text}` };
}

/** Also `10.0.0.0/255.0.0.0`; other masks than prefixes are not judged. */
function asCidr(text: string): string {
  const [address, length] = text.split('/') as [string, string | undefined];
  if (length === undefined) {
    const ip = parseIp(address);
    return ip === undefined ? '' : hostCidr(ip);
  }
  if (!length.includes('.')) return parseCidr(text) ?? '';
  const bits = length
    .split('.')
    .map((octet) => Number(octet).toString(2).padStart(8, '0'))
    .join('');
  return /^1*0*$/.test(bits) ? (parseCidr(`${address}/${bits.replace(/0/g, '').length}`) ?? '') : '';
}

function networkInterface(direction: 'in' | 'out', text: string): MatchKind {
  const isPrefix = text.endsWith('+');
  return { kind: 'interface', direction, name: isPrefix ? text.slice(0, -1) : text, isPrefix };
}

function ports(field: 'src' | 'dst' | 'either', text: string): MatchKind {
  return { kind: 'ports', field, ranges: text.split(',').map(portRange) };
}

function portRange(text: string): PortRange {
  const [low, high] = text.split(':') as [string, string | undefined];
  if (high === undefined) return [Number(low), Number(low)];
  return [Number(low || 0), Number(high || 65535)];
}

function states(text: string): MatchKind {
  return { kind: 'state', states: text.split(',') };
}

const SYN: MatchKind = { kind: 'tcp-flags', among: ['FIN', 'SYN', 'RST', 'ACK'], set: ['SYN'] };

function tcpFlags(words: Words): MatchKind {
  const flags = (text: string): string[] =>
    text === 'ALL' ? ['FIN', 'SYN', 'RST', 'PSH', 'ACK', 'URG'] : text === 'NONE' ? [] : text.split(',');
  return { kind: 'tcp-flags', among: flags(words.next()), set: flags(words.next()) };
}

function addressRange(field: 'src' | 'dst', text: string): MatchKind {
  const [from, to = from] = text.split('-') as [string, string | undefined];
  return { kind: 'range', field, from: parseIp(from) ?? from, to: parseIp(to) ?? to };
}
