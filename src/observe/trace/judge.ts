// In: a rule's matches and a packet on its way.  Out: whether they hold, how likely, or what it depends on.
// Nothing is guessed: what cannot be told from the packet comes back as a condition.
import { assertNever } from '../../lib/assert.ts';
import { cidrContains, familyOf, isLoopback } from '../../lib/ip.ts';
import { type Fraction, isOne, rest, times } from './fraction.ts';
import { isInIpSet } from './ip-sets.ts';
import type { Surroundings } from './packet.ts';
import type { IpSet, Match, PortRange, Rule, Table } from './ruleset.ts';
import { isBetween, keysOf, lookUp, setOf } from './sets.ts';

/** A packet as it is at one point of its way. */
export interface Travelling {
  src: string;
  dst: string;
  readonly protocol: string;
  readonly srcPort: number | undefined;
  dstPort: number;
  inDevice: string | undefined;
  outDevice: string | undefined;
  mark: number;
  state: string;
  isDestinationChanged: boolean;
  isSourceChanged: boolean;
  readonly originalDst: string;
  readonly originalDstPort: number;
  /** Which virtual server has sent it on. */
  virtualServer?: { readonly ip: string; readonly port: number };
  /** The lists of recent clients about which it is decided whether this one is in them. */
  remembered: ReadonlyMap<string, boolean>;
}

export type Judgement =
  | { readonly kind: 'yes' | 'no' }
  | { readonly kind: 'chance'; readonly probability: Fraction }
  | { readonly kind: 'remembered'; readonly list: string; readonly not: boolean }
  | { readonly kind: 'unjudged'; readonly text: string };

const YES: Judgement = { kind: 'yes' };
const NO: Judgement = { kind: 'no' };

/** What rules can look things up in. */
export interface Lists {
  readonly table: Table;
  readonly ipSets: ReadonlyMap<string, IpSet> | undefined;
}

export function judgeRule(rule: Rule, packet: Travelling, host: Surroundings, lists: Lists): Judgement {
  let open: Judgement = YES;
  for (const match of rule.matches) {
    const judgement = judge(match, packet, host, lists);
    if (judgement.kind === 'no') return NO;
    if (judgement.kind !== 'yes') open = both(open, judgement);
  }
  return open;
}

/** Two matches of one rule that each leave something open. */
function both(a: Judgement, b: Judgement): Judgement {
  if (a.kind === 'yes') return b;
  if (a.kind === 'chance' && b.kind === 'chance')
    return { kind: 'chance', probability: times(a.probability, b.probability) };
  return { kind: 'unjudged', text: [openText(a), openText(b)].join(' and ') };
}

function openText(judgement: Judgement): string {
  if (judgement.kind === 'unjudged') return judgement.text;
  return judgement.kind === 'remembered' ? `a client in list ${judgement.list}` : 'a draw';
}

function judge(match: Match, packet: Travelling, host: Surroundings, { table, ipSets }: Lists): Judgement {
  switch (match.kind) {
    case 'chance': {
      const probability = match.not ? rest(match.probability) : match.probability;
      return isOne(probability) ? YES : probability.numerator === 0n ? NO : { kind: 'chance', probability };
    }
    case 'remembered': {
      const known = packet.remembered.get(match.list) ?? host.isRemembered?.(match.list, packet.src);
      return known === undefined ? { kind: 'remembered', list: match.list, not: match.not } : answer(known, match.not);
    }
    case 'remember':
      return answer(true, match.not);
    case 'element': {
      const set = setOf(match.set, table);
      if (!set) return { kind: 'unjudged', text: `@${match.set}` };
      if (set.isDynamic) {
        const known = packet.remembered.get(set.name) ?? host.isRemembered?.(set.name, packet.src);
        return known === undefined ? { kind: 'remembered', list: set.name, not: match.not } : answer(known, match.not);
      }
      const [key] = keysOf(match.key, packet);
      return answer(key !== undefined && lookUp(set, key.text) !== undefined, match.not);
    }
    case 'ip-set': {
      const set = ipSets?.get(match.set);
      const holds = set && isInIpSet(set, match.directions, packet);
      return holds === undefined
        ? {
            kind: 'unjudged',
            text: `-m set ${match.not ? '! ' : ''}--match-set ${match.set} ${match.directions.join()}`,
          }
        : answer(holds, match.not);
    }
    case 'unknown':
      return { kind: 'unjudged', text: `${match.not ? '! ' : ''}${match.text}` };
    default: {
      const holds = matchHolds(match, packet, host);
      return holds === undefined ? { kind: 'unjudged', text: matchText(match) } : answer(holds, match.not);
    }
  }
}

function answer(holds: boolean, not: boolean): Judgement {
  return holds !== not ? YES : NO;
}

type Decidable = Exclude<
  Match,
  { readonly kind: 'chance' | 'remembered' | 'remember' | 'element' | 'ip-set' | 'unknown' }
>;

/** Undefined: the packet does not tell. */
function matchHolds(match: Decidable, packet: Travelling, host: Surroundings): boolean | undefined {
  switch (match.kind) {
    case 'network':
      return inNetwork(match.cidr, packet[match.field]);
    case 'range':
      return isBetween(packet[match.field], match.from, match.to);
    case 'interface': {
      const device = match.direction === 'in' ? packet.inDevice : packet.outDevice;
      if (match.name === '' && match.isPrefix) return true;
      if (device === undefined) return undefined;
      return match.isPrefix ? device.startsWith(match.name) : device === match.name;
    }
    case 'protocol':
      return match.protocol === packet.protocol;
    case 'ports': {
      const wanted = match.field === 'dst' ? [packet.dstPort] : [packet.srcPort];
      if (match.field === 'either' && match.ranges.some((range) => within(range, packet.dstPort))) return true;
      return wanted[0] === undefined ? undefined : match.ranges.some((range) => within(range, wanted[0]!));
    }
    case 'state':
      return match.states.some(
        (state) =>
          state === packet.state ||
          (state === 'DNAT' && packet.isDestinationChanged) ||
          (state === 'SNAT' && packet.isSourceChanged),
      );
    case 'mark':
      return (packet.mark & match.mask) >>> 0 === match.value;
    case 'address-type':
      return hasType(packet[match.field], match.type, host);
    case 'original-destination':
      return (
        (match.cidr === undefined || inNetwork(match.cidr, packet.originalDst)) &&
        (match.ports === undefined || within(match.ports, packet.originalDstPort))
      );
    case 'tcp-flags': {
      // The first packet of a connection has SYN set and nothing else; of later ones the flags are not known.
      if (packet.protocol !== 'tcp') return false;
      if (packet.state !== 'NEW') return undefined;
      return match.among.every((flag) => match.set.includes(flag) === (flag === 'SYN'));
    }
    case 'bridged':
      return packet.inDevice !== '' && host.isBridged ? host.isBridged(packet.inDevice) : false;
    case 'virtual-server':
      return isSentOnBy(match, packet);
    default:
      return assertNever(match);
  }
}

function isSentOnBy(match: Extract<Match, { readonly kind: 'virtual-server' }>, packet: Travelling): boolean {
  const { virtualServer, protocol } = packet;
  if (!virtualServer) return false;
  switch (match.field) {
    case 'any':
      return true;
    case 'ip':
      return inNetwork(match.value, virtualServer.ip);
    case 'protocol':
      return match.value === protocol;
    case 'port':
      return match.value === String(virtualServer.port);
  }
}

function inNetwork(cidr: string, ip: string): boolean {
  // Most rules name one address; comparing text is much quicker than bytes.
  if (cidr.endsWith('/128') || (cidr.endsWith('/32') && !cidr.includes(':')))
    return cidr.slice(0, cidr.lastIndexOf('/')) === ip;
  return cidrContains(cidr, ip);
}

function within([low, high]: PortRange, port: number): boolean {
  return low <= port && port <= high;
}

function hasType(ip: string, type: string, host: Surroundings): boolean | undefined {
  const isLocal = isLoopback(ip) || host.isOwnAddress(ip);
  const isMulticast = familyOf(ip) === 'IPv4' ? cidrContains('224.0.0.0/4', ip) : cidrContains('ff00::/8', ip);
  const kinds = type.split(',');
  if (kinds.includes('LOCAL') && isLocal) return true;
  if (kinds.includes('MULTICAST') && isMulticast) return true;
  if (kinds.every((kind) => kind === 'LOCAL' || kind === 'MULTICAST')) return false;
  // A unicast address is one that is neither local, nor multicast, nor a broadcast address, which only routes tell.
  if (isLocal || isMulticast) return false;
  return undefined;
}

function matchText(match: Decidable): string {
  const not = match.not ? '! ' : '';
  switch (match.kind) {
    case 'interface':
      return `${not}-${match.direction === 'in' ? 'i' : 'o'} ${match.name}${match.isPrefix ? '+' : ''}`;
    case 'ports':
      return `${not}--${match.field === 'dst' ? 'dport' : 'sport'} ${match.ranges.map(([a, b]) => (a === b ? a : `${a}:${b}`)).join()}`;
    case 'address-type':
      return `${not}--${match.field}-type ${match.type}`;
    case 'bridged':
      return `${not}--physdev-is-in`;
    case 'tcp-flags':
      return `${not}--tcp-flags ${match.among.join()} ${match.set.join()}`;
    default:
      return `${not}${match.kind}`;
  }
}
