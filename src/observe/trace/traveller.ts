// One packet on one of its possible ways: where it is, what it has become, and how it came here. A way that forks is copied.
import { isLoopback } from '../../lib/ip.ts';
import { type Fraction, ONE, rest, times } from './fraction.ts';
import type { Judgement, Travelling } from './judge.ts';
import type { Branch } from './map-branches.ts';
import type { Condition, End, Hop, Outcome, Packet, Surroundings } from './packet.ts';
import type { Chain, Hook, Rule, Statement } from './ruleset.ts';

export interface Traveller {
  packet: Travelling;
  isFromThisHost: boolean;
  hook: Hook;
  /** How many base chains of the hook it has been through. */
  basesDone: number;
  /** The base chain it is in. */
  base: Chain | undefined;
  frame: Frame | undefined;
  /** What a rule that matched still has to do. */
  pending: Pending | undefined;
  isTranslatedHere: boolean;
  isMasqueraded: boolean;
  /** How often a process of this host took the connection and made one of its own. */
  timesRelayed: number;
  connectionMark: number;
  share: Fraction;
  conditions: readonly Condition[];
  trail: Trail | undefined;
}

/** Where in a chain it is, and in which it was before. */
export interface Frame {
  readonly chain: Chain;
  readonly rules: readonly Rule[];
  readonly at: number;
  readonly below: Frame | undefined;
}

export interface Pending {
  readonly statements: readonly Statement[];
  readonly hop: Omit<Hop, 'did'>;
}

/** The way so far, last hop first, so that branches share what they have in common. */
interface Trail {
  readonly hop: Hop;
  readonly before: Trail | undefined;
}

export function startOf(packet: Packet, host: Surroundings): Traveller {
  const { src, dst, protocol, srcPort, dstPort, isFromThisHost } = packet;
  return {
    packet: {
      src,
      dst,
      protocol,
      srcPort,
      dstPort,
      // Where nothing else is known, a packet comes in by the device that leads back to its sender.
      inDevice: isFromThisHost ? '' : (packet.device ?? host.deviceTo?.(src)),
      outDevice: undefined,
      mark: packet.mark,
      state: packet.state,
      isDestinationChanged: false,
      isSourceChanged: false,
      originalDst: dst,
      originalDstPort: dstPort,
      remembered: NOTHING_KNOWN,
    },
    isFromThisHost,
    hook: isFromThisHost ? 'output' : 'prerouting',
    basesDone: 0,
    base: undefined,
    frame: undefined,
    pending: undefined,
    isTranslatedHere: false,
    isMasqueraded: false,
    timesRelayed: 0,
    connectionMark: 0,
    share: ONE,
    conditions: [],
    trail: undefined,
  };
}

const NOTHING_KNOWN: ReadonlyMap<string, boolean> = new Map();

/** From here on it is another connection, made by a process of this host: nothing of the old one is known of it. */
export function relay(traveller: Traveller, ip: string, port: number, host: Surroundings): void {
  const { protocol } = traveller.packet;
  const src = isLoopback(ip) || host.isOwnAddress(ip) ? ip : host.address;
  const start = startOf(
    {
      src,
      dst: ip,
      protocol,
      srcPort: undefined,
      dstPort: port,
      device: undefined,
      isFromThisHost: true,
      mark: 0,
      state: 'NEW',
    },
    host,
  );
  const { share, conditions, trail, timesRelayed } = traveller;
  Object.assign(traveller, start, { share, conditions, trail, timesRelayed: timesRelayed + 1 });
}

export function addHop(traveller: Traveller, hop: Hop): void {
  traveller.trail = { hop, before: traveller.trail };
}

export interface Fork {
  /** The branch on which the rule does not match. */
  readonly other: Traveller;
  readonly hop: Pick<Hop, 'chance' | 'condition'>;
}

/** Makes `traveller` the branch on which the rule matches. Undefined: it matches in any case. */
export function forkAt(traveller: Traveller, judgement: Judgement, rule: Rule): Fork | undefined {
  if (judgement.kind === 'yes' || judgement.kind === 'no') return undefined;
  const other = copyOf(traveller);
  switch (judgement.kind) {
    case 'chance':
      other.share = times(traveller.share, rest(judgement.probability));
      traveller.share = times(traveller.share, judgement.probability);
      return { other, hop: { chance: judgement.probability } };
    case 'remembered': {
      const { list, not } = judgement;
      const condition = { kind: 'remembered', list, holds: !not } as const;
      decide(traveller, condition);
      decide(other, { ...condition, holds: not });
      return { other, hop: { condition } };
    }
    case 'unjudged': {
      const condition = { kind: 'unjudged', text: judgement.text, rule: rule.text, holds: true } as const;
      decide(traveller, condition);
      decide(other, { ...condition, holds: false });
      return { other, hop: { condition } };
    }
  }
}

function copyOf(traveller: Traveller): Traveller {
  return { ...traveller, packet: { ...traveller.packet } };
}

/** One traveller for each thing that a look into a map may find, with what it then has to do; the same if it is just one. */
export function splitInto(
  traveller: Traveller,
  branches: readonly Branch[],
  { statements, hop }: Pending,
): Traveller[] {
  return branches.map(({ does, share, condition, row }) => {
    const way = branches.length === 1 ? traveller : copyOf(traveller);
    way.share = times(way.share, share);
    if (condition) decide(way, condition);
    const marks = { ...(share === ONE ? {} : { chance: share }), ...(condition && { condition }), ...(row && { row }) };
    way.pending = does && { statements: [does, ...statements], hop: { ...hop, ...marks } };
    return way;
  });
}

function decide(traveller: Traveller, condition: Condition): void {
  traveller.conditions = [...traveller.conditions, condition];
  if (condition.kind === 'remembered')
    traveller.packet.remembered = new Map(traveller.packet.remembered).set(condition.list, condition.holds);
}

export function outcomeOf(traveller: Traveller, end: End): Outcome {
  const { packet, share, conditions, isMasqueraded } = traveller;
  return {
    share,
    conditions,
    end,
    src: packet.src,
    dst: packet.dst,
    dstPort: packet.dstPort,
    isMasqueraded,
    isSeenAsNode: isMasqueraded || (traveller.isFromThisHost && !isLoopback(packet.src)),
    isRedirected: packet.isDestinationChanged || traveller.timesRelayed > 0,
    get hops() {
      return hopsOf(traveller.trail);
    },
  };
}

function hopsOf(trail: Trail | undefined): readonly Hop[] {
  const hops: Hop[] = [];
  for (let at = trail; at; at = at.before) hops.push(at.hop);
  return hops.reverse();
}
