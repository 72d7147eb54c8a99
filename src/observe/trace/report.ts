// In: what the walker found.  Out: the answer as documented JSON, and as one sentence. Everything a reader sees comes from here.
import { hostPort } from '../../lib/ip.ts';
import type { Backend, ServicePort } from '../../model/model.ts';
import { fractionText, toNumber } from './fraction.ts';
import type { AddressBook, FrontendOf } from './frontends.ts';
import type { Origin, Origins } from './origin.ts';
import type { Condition, Hop, Outcome, Packet } from './packet.ts';
import type { Statement } from './ruleset.ts';
import { sentenceOf } from './sentence.ts';

export interface TraceContext {
  readonly node: string;
  /** Where the rules come from: planned from objects, read from the kernel, or a file's name. */
  readonly rules: string;
  readonly origins: Origins;
  readonly book: AddressBook;
}

export interface TraceReport {
  readonly node: string;
  readonly rules: string;
  readonly packet: PacketReport;
  readonly outcomes: readonly OutcomeReport[];
  readonly sentence: string;
}

export interface PacketReport {
  readonly source: string;
  readonly destination: string;
  readonly protocol: string;
  readonly isFromNode: boolean;
  /** The service port whose address is the destination. */
  readonly service?: string;
  readonly frontend?: string;
}

export interface OutcomeReport {
  /** `1/3` */
  readonly share: string;
  readonly probability: number;
  readonly conditions: readonly { readonly holds: boolean; readonly text: string }[];
  readonly end: 'delivered' | 'forwarded' | 'dropped' | 'rejected' | 'unjudged';
  readonly reason?: string;
  readonly destination: string;
  /** What the receiver sees as the sender. */
  readonly sourceSeen: string;
  readonly isMasqueraded: boolean;
  readonly isTranslated: boolean;
  readonly endpoint?: Pick<Backend, 'nodeName' | 'target' | 'slice' | 'isLocal' | 'isTerminating'>;
  readonly hops: readonly HopReport[];
}

export interface HopReport {
  readonly hook: string;
  readonly table: string;
  readonly chain: string;
  readonly tables: string;
  /** Absent: the chain's policy. */
  readonly rule?: string;
  /** The element of a map that said what to do. */
  readonly row?: string;
  readonly did: string;
  readonly chance?: string;
  /** What the match depends on besides the packet. */
  readonly condition?: string;
  readonly isForeign: boolean;
  readonly origins: readonly Origin[];
}

export function traceReport(packet: Packet, outcomes: readonly Outcome[], context: TraceContext): TraceReport {
  const found = frontendOf(packet, context.book);
  return {
    node: context.node,
    rules: context.rules,
    packet: {
      source: packet.src,
      destination: hostPort(packet.dst, packet.dstPort),
      protocol: packet.protocol,
      isFromNode: packet.isFromThisHost,
      ...(found && { service: found.port.displayName, frontend: found.frontend.kind }),
    },
    outcomes: outcomes.map((outcome) => outcomeReport(outcome, found?.port, context)),
    sentence: sentenceOf(packet, outcomes, context),
  };
}

export function frontendOf(packet: Packet, book: AddressBook): FrontendOf | undefined {
  return book.asked(packet.dst, packet.protocol, packet.dstPort);
}

function outcomeReport(outcome: Outcome, asked: ServicePort | undefined, context: TraceContext): OutcomeReport {
  const { end } = outcome;
  const destination = hostPort(outcome.dst, outcome.dstPort);
  const backend = context.book.backend(destination, asked);
  return {
    share: fractionText(outcome.share),
    probability: toNumber(outcome.share),
    conditions: outcome.conditions.map((condition) => ({ holds: condition.holds, text: conditionText(condition) })),
    end: end.kind,
    ...(end.kind === 'rejected' && { reason: end.with }),
    ...(end.kind === 'unjudged' && { reason: end.reason }),
    destination,
    sourceSeen: outcome.src,
    isMasqueraded: outcome.isMasqueraded,
    isTranslated: outcome.isRedirected,
    ...(backend && {
      endpoint: {
        nodeName: backend.nodeName,
        target: backend.target,
        slice: backend.slice,
        isLocal: backend.isLocal,
        isTerminating: backend.isTerminating,
      },
    }),
    hops: outcome.hops.map((hop) => hopReport(hop, context.origins)),
  };
}

function hopReport(hop: Hop, origins: Origins): HopReport {
  return {
    hook: hop.hook,
    tables: hop.chain.origin,
    table: hop.chain.table,
    chain: hop.chain.name,
    ...(hop.rule && { rule: hop.rule.text }),
    ...(hop.row && { row: hop.row }),
    did: statementText(hop.did),
    ...(hop.chance && { chance: fractionText(hop.chance) }),
    ...(hop.condition && { condition: conditionText(hop.condition) }),
    isForeign: !origins.isOurs(hop),
    origins: origins.of(hop),
  };
}

function conditionText(condition: Condition): string {
  switch (condition.kind) {
    case 'remembered':
      return `the client is remembered in list ${condition.list}`;
    case 'unjudged':
      return `"${condition.text}" holds, which cannot be judged`;
    case 'chosen':
      return `${condition.by} chooses it for this client`;
  }
}

export function statementText(statement: Statement): string {
  switch (statement.kind) {
    case 'jump':
    case 'goto':
      return `${statement.kind} ${statement.chain}`;
    case 'dnat':
      return `translate to ${translation(statement)}`;
    case 'send-on':
      return `send on to ${hostPort(statement.ip, statement.port)}`;
    case 'connect':
      return `connect to ${hostPort(statement.ip, statement.port)}`;
    case 'snat':
      return `take ${statement.ip} as source`;
    case 'masquerade':
      return 'take the node’s address as source';
    case 'reject':
      return `reject with ${statement.with}`;
    case 'mark':
      return 'mark';
    case 'unknown':
      return statement.text;
    case 'redirect':
      return `redirect to port ${statement.port ?? 'as it is'} of this node`;
    case 'note':
      return statement.name;
    default:
      return statement.kind;
  }
}

function translation({ ip, port, name }: Extract<Statement, { readonly kind: 'dnat' }>): string {
  if (name !== undefined) return `${ip ?? ''}:${name}`;
  return ip === undefined ? `port ${port}` : hostPort(ip, port ?? 0);
}
