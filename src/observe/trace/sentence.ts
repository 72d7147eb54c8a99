// In: every outcome of a packet.  Out: one sentence that a person can repeat.
import { hostPort } from '../../lib/ip.ts';
import { type Fraction, fractionText, isOne, plus, sameFraction, ZERO } from './fraction.ts';
import type { Outcome, Packet } from './packet.ts';
import type { TraceContext } from './report.ts';

/** Of clients that no list remembers yet. What rules leave open is told after the rest. */
export function sentenceOf(packet: Packet, outcomes: readonly Outcome[], context: TraceContext): string {
  const fresh = outcomes.filter((outcome) => !outcome.conditions.some(isRemembered));
  const judged = fresh.filter(({ conditions }) => conditions.every(({ kind, holds }) => !holds || kind === 'chosen'));
  const main = judged.length > 0 ? judged : fresh;
  const groups = groupByEnd(main, packet, context);
  const clauses = groups.map(({ share, text, place }, i) =>
    place !== undefined && groups[i - 1]?.place !== undefined
      ? `${amount(share, groups)} to ${place}`
      : `${amount(share, groups)} ${text(isPlural(share))}`,
  );
  const open = new Set(
    outcomes.flatMap(({ conditions }) => conditions.flatMap((c) => (c.kind === 'unjudged' ? [c.text] : []))),
  );
  const choosers = new Set(
    main.flatMap(({ conditions }) => conditions.flatMap((c) => (c.kind === 'chosen' ? [c.by] : []))),
  );
  return [
    capital(clauses.length > 4 ? crowd(groups) : clauses.join(', ')),
    seenSource(main),
    otherPorts(packet, main, context),
    ...[...choosers].map((by) => `${by} gives each client one of them, so these are the shares of many clients`),
    outcomes.length > fresh.length ? 'a client that was here before goes to the endpoint it had' : '',
    ...[...open].slice(0, 3).map((text) => `unless a rule with "${text}" matches, which cannot be judged`),
  ]
    .filter((part) => part !== '')
    .join('; ')
    .concat('.');
}

function isRemembered({ kind, holds }: Outcome['conditions'][number]): boolean {
  return kind === 'remembered' && holds;
}

interface Group {
  readonly share: Fraction;
  readonly text: (isPlural: boolean) => string;
  /** The endpoint, if it ends at one. */
  readonly place: string | undefined;
}

function groupByEnd(outcomes: readonly Outcome[], packet: Packet, context: TraceContext): readonly Group[] {
  const byEnd = Map.groupBy(outcomes, ({ end, dst, dstPort }) =>
    end.kind === 'forwarded' || end.kind === 'delivered' ? `${end.kind} ${hostPort(dst, dstPort)}` : end.kind,
  );
  return [...byEnd.values()].map((same) => ({
    share: same.reduce((sum, { share }) => plus(sum, share), ZERO),
    text: endText(same[0]!, packet, context),
    place: reached(same[0]!) ? placeText(same[0]!, context) : undefined,
  }));
}

function reached({ isRedirected, end }: Outcome): boolean {
  return isRedirected && (end.kind === 'forwarded' || end.kind === 'delivered');
}

function placeText({ dst, dstPort }: Outcome, { book }: TraceContext): string {
  const address = hostPort(dst, dstPort);
  const backend = book.backend(address);
  return backend?.nodeName ? `${address} on ${backend.isLocal ? 'this node' : backend.nodeName}` : address;
}

function endText(outcome: Outcome, packet: Packet, context: TraceContext): Group['text'] {
  const address = hostPort(outcome.dst, outcome.dstPort);
  const last = outcome.hops.at(-1);
  const why =
    last &&
    (context.origins.of(last)[0]?.meaning ??
      `${last.chain.table} ${last.chain.name}: ${last.rule?.text ?? 'its policy'}`);
  switch (outcome.end.kind) {
    case 'dropped':
      return (many) => `${many ? 'are' : 'is'} dropped without an answer (${why})`;
    case 'rejected':
      return (many) => `${many ? 'are' : 'is'} refused at once (${why})`;
    case 'unjudged': {
      const { reason } = outcome.end;
      return (many) => `${many ? 'end' : 'ends'} where nothing can be told: ${reason}`;
    }
    case 'delivered':
    case 'forwarded': {
      if (outcome.isRedirected) return (many) => `${many ? 'go' : 'goes'} to ${placeText(outcome, context)}`;
      return outcome.end.kind === 'delivered'
        ? () => `goes to this node’s own port ${packet.dstPort}, as no rule translates it`
        : () => `goes on to ${address} as it is, as no rule translates it`;
    }
  }
}

/** What happens to most packets of a service with many endpoints. */
function crowd(groups: readonly Group[]): string {
  const [first] = groups;
  const isEven = groups.every(({ share, place }) => place !== undefined && sameFraction(share, first!.share));
  return isEven
    ? `each of ${groups.length} endpoints gets ${fractionText(first!.share)}`
    : groups.map(({ share, text }) => `${fractionText(share)} ${text(true)}`).join(', ');
}

function amount(share: Fraction, groups: readonly Group[]): string {
  if (groups.length === 1 || isOne(share)) return groups[0]!.place === undefined ? 'the packet' : 'everything';
  return NAMES[fractionText(share)] ?? fractionText(share);
}

const NAMES: Readonly<Record<string, string>> = {
  '1/2': 'half',
  '1/3': 'a third',
  '2/3': 'two thirds',
  '1/4': 'a quarter',
  '3/4': 'three quarters',
};

function isPlural(share: Fraction): boolean {
  return !isOne(share);
}

function seenSource(outcomes: readonly Outcome[]): string {
  const arrived = outcomes.filter(reached);
  if (arrived.length === 0) return '';
  const masked = new Set(
    arrived.filter(({ isSeenAsNode }) => isSeenAsNode).map(({ dst, dstPort }) => hostPort(dst, dstPort)),
  );
  const own = arrived.filter(({ isSeenAsNode }) => !isSeenAsNode);
  const receiver = arrived.length === 1 ? 'the endpoint sees' : 'the endpoints see';
  if (own.length === 0) return `${receiver} the node’s address`;
  if (masked.size === 0) return `${receiver} your own address`;
  return `${[...masked].join(' and ')} sees the node’s address, ${own.length === 1 ? 'the other' : 'the others'} your own`;
}

/** The most common mistake: the right address, and a port that the Service does not have. */
function otherPorts({ dst, dstPort, protocol }: Packet, outcomes: readonly Outcome[], { book }: TraceContext): string {
  if (outcomes.some(reached) || book.frontend(dst, protocol, dstPort)) return '';
  const served = book.servedAt(dst);
  if (served.length === 0) return '';
  const ports = served.map(({ port, frontend }) => `${frontend.port}/${port.protocol.toLowerCase()}`);
  const { namespace, serviceName } = served[0]!.port;
  return `${dst} belongs to Service ${namespace}/${serviceName}, which has only ${ports.join(', ')}`;
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
