// The way between rules: from hook to hook as netfilter leads a packet, and what leaves a chain or a hook behind.
import { assertNever } from '../../lib/assert.ts';
import { familyOf, isLoopback } from '../../lib/ip.ts';
import type { End, Surroundings } from './packet.ts';
import type { Chain, Hook, Table } from './ruleset.ts';
import { addHop, type Traveller } from './traveller.ts';

/** The rest of this chain, and of the other nat chains of this hook, is not asked. */
export function translated(traveller: Traveller): 'next-rule' {
  traveller.frame = undefined;
  traveller.isTranslatedHere = true;
  return 'next-rule';
}

/** Where the new destination is this host itself, the packet goes on from where it is. */
export function sendOn(traveller: Traveller, ip: string, port: number, host: Surroundings): void {
  const { packet } = traveller;
  packet.virtualServer = { ip: packet.dst, port: packet.dstPort };
  packet.dst = ip;
  packet.dstPort = port;
  packet.isDestinationChanged = true;
  if (isLoopback(ip) || host.isOwnAddress(ip)) return;
  packet.inDevice = '';
  enter(traveller, 'output');
}

/** At the end of a chain the packet goes back to where it came from; where it came from nowhere, the policy decides. */
export function leaveChain(traveller: Traveller): End | undefined {
  traveller.frame = traveller.frame!.below;
  const chain = traveller.base!;
  if (traveller.frame || chain.base!.policy === 'accept') return undefined;
  addHop(traveller, { hook: traveller.hook, chain, rule: undefined, did: { kind: 'drop' } });
  return { kind: 'dropped' };
}

export function nextHook(traveller: Traveller, host: Surroundings): End | undefined {
  const { packet } = traveller;
  const isOwn = isLoopback(packet.dst) || host.isOwnAddress(packet.dst);
  const hasCrossedLoopback = traveller.isFromThisHost && packet.inDevice === LOOPBACK;
  switch (traveller.hook) {
    case 'prerouting':
      if (!isOwn) packet.outDevice = host.deviceTo?.(packet.dst);
      enter(traveller, isOwn ? 'input' : 'forward');
      return undefined;
    case 'forward':
      enter(traveller, 'postrouting');
      return undefined;
    case 'output':
      packet.outDevice = isOwn ? LOOPBACK : host.deviceTo?.(packet.dst);
      enter(traveller, 'postrouting');
      return undefined;
    case 'postrouting':
      if (!isOwn || !traveller.isFromThisHost || hasCrossedLoopback) return { kind: 'forwarded' };
      packet.inDevice = LOOPBACK;
      packet.outDevice = undefined;
      enter(traveller, 'prerouting');
      return undefined;
    case 'input':
      return { kind: 'delivered' };
    default:
      return assertNever(traveller.hook);
  }
}

const LOOPBACK = 'lo';

function enter(traveller: Traveller, hook: Hook): void {
  traveller.hook = hook;
  traveller.basesDone = 0;
  traveller.isTranslatedHere = false;
}

export function isAskedByNat({ packet, hook, isFromThisHost, isTranslatedHere }: Traveller): boolean {
  if (packet.state !== 'NEW' || isTranslatedHere) return false;
  // What ip_vs sends on was asked when it came.
  if (packet.virtualServer && hook === 'output') return false;
  const hasBeenAsked = isFromThisHost && (hook === 'prerouting' || hook === 'input');
  return !hasBeenAsked;
}

export function loopback(like: string): string {
  return familyOf(like) === 'IPv4' ? '127.0.0.1' : '::1';
}

/** A stable sort: tables of one priority stay in the order they are given in. */
export function hookOrder(tables: readonly Table[]): ReadonlyMap<Hook, readonly Chain[]> {
  const based = tables.flatMap(({ chains }) => [...chains.values()].filter(({ base }) => base !== undefined));
  const byHook = Map.groupBy(based, ({ base }) => base!.hook);
  return new Map(
    [...byHook].map(([hook, chains]) => [hook, chains.sort((a, b) => a.base!.priority - b.base!.priority)]),
  );
}
