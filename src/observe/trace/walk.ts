// In: a packet, a ruleset, and the host around it.  Out: everything that can become of the packet, each with its exact share.
//
//   from outside:   prerouting → is it for this host? → input                   → a process
//                                                     → forward → postrouting   → away
//   from a process: output → postrouting → is it for this host? → prerouting → input → the other process
//                                                               → away
//
// Balancers stand on this way. ip_vs takes what is for its virtual servers in input, or in output where a process of this host
// sends it, and what it sends on goes through output. A relay is a process: it takes what was delivered, and makes a connection.
//
// In each hook the base chains are asked by priority. Nat chains are asked for the first packet of a connection alone, the
// first that translates is the last that is asked, and a packet over the loopback device is not asked again.
import { assertNever } from '../../lib/assert.ts';
import { hostPort } from '../../lib/ip.ts';
import { branchesOf, IP_VS, RELAYS } from './balance.ts';
import { ChainIndex } from './chain-index.ts';
import { hookOrder, isAskedByNat, leaveChain, loopback, nextHook, sendOn, translated } from './hooks.ts';
import { judgeRule } from './judge.ts';
import { branchesAt } from './map-branches.ts';
import type { End, Hop, Outcome, Packet, Surroundings } from './packet.ts';
import {
  type Balancer,
  type BalancerDestination,
  balancerKey,
  type Chain,
  type Hook,
  type Rule,
  type Ruleset,
  type Statement,
  type Table,
} from './ruleset.ts';
import { withAddresses } from './surroundings.ts';
import {
  addHop,
  type Frame,
  forkAt,
  outcomeOf,
  type Pending,
  relay,
  splitInto,
  startOf,
  type Traveller,
} from './traveller.ts';

/** Beyond this many different ends nobody reads on; what is left is said to be unjudged. */
const MAX_OUTCOMES = 20_000;

const MOST_RELAYS = 4;

export class Walker {
  readonly #rules: Ruleset;
  readonly #hooks: ReadonlyMap<Hook, readonly Chain[]>;
  readonly #tables: ReadonlyMap<Chain, Table>;
  readonly #index = new ChainIndex();

  constructor(rules: Ruleset) {
    const { tables, virtualServers } = rules;
    this.#rules = rules;
    this.#hooks = hookOrder(virtualServers ? [...tables, IP_VS] : tables);
    this.#tables = new Map(tables.flatMap((table) => [...table.chains.values()].map((chain) => [chain, table])));
  }

  walk(packet: Packet, around: Surroundings): readonly Outcome[] {
    const host = withAddresses(around, this.#rules);
    const outcomes: Outcome[] = [];
    const open: Traveller[] = [startOf(packet, host)];
    for (let traveller = open.pop(); traveller; traveller = open.pop()) {
      const isTooMuch = outcomes.length === MAX_OUTCOMES;
      const end: End = isTooMuch
        ? { kind: 'unjudged', reason: `there are more than ${MAX_OUTCOMES} ways` }
        : this.#travel(traveller, host, open);
      outcomes.push(outcomeOf(traveller, end));
      if (isTooMuch) break;
    }
    return outcomes;
  }

  /** Goes on until this traveller's way ends. Where it forks, the other branch is put on `open`. */
  #travel(traveller: Traveller, host: Surroundings, open: Traveller[]): End {
    for (;;) {
      const { frame, pending } = traveller;
      const rule = frame?.rules[frame.at];
      const end = pending
        ? this.#work(pending, traveller, host, open)
        : !frame
          ? this.#enterNextChain(traveller, host, open)
          : rule
            ? this.#meet(rule, frame, traveller, host, open)
            : leaveChain(traveller);
      if (end) return end;
    }
  }

  #enterNextChain(traveller: Traveller, host: Surroundings, open: Traveller[]): End | undefined {
    const chain = this.#hooks.get(traveller.hook)?.[traveller.basesDone];
    if (!chain) return this.#leaveHook(traveller, host, open);
    traveller.basesDone++;
    if (chain.origin === 'ip_vs') return this.#askIpVs(chain, traveller, host, open);
    if (chain.base!.type === 'nat' && !isAskedByNat(traveller)) return undefined;
    traveller.base = chain;
    traveller.frame = this.#frame(chain, traveller, undefined);
    return undefined;
  }

  #leaveHook(traveller: Traveller, host: Surroundings, open: Traveller[]): End | undefined {
    const { packet, hook, timesRelayed } = traveller;
    const end = nextHook(traveller, host);
    const taker =
      end?.kind === 'delivered' && this.#rules.relays?.get(keyOf(packet.protocol, packet.dst, packet.dstPort));
    if (!taker) return end;
    if (timesRelayed === MOST_RELAYS) return { kind: 'unjudged', reason: 'it is relayed again and again' };
    const connect = ({ ip, port }: BalancerDestination): Statement => ({ kind: 'connect', ip, port });
    this.#balance(taker, connect, { hook, chain: RELAYS }, traveller, host, open);
    return undefined;
  }

  /** What it has sent on it leaves alone. */
  #askIpVs(chain: Chain, traveller: Traveller, host: Surroundings, open: Traveller[]): undefined {
    const { dst, dstPort, protocol, virtualServer } = traveller.packet;
    const server = this.#rules.virtualServers?.get(keyOf(protocol, dst, dstPort));
    if (virtualServer || !server) return;
    const sendOn = ({ ip, port }: BalancerDestination): Statement => ({ kind: 'send-on', ip, port });
    this.#balance(server, sendOn, { hook: traveller.hook, chain }, traveller, host, open);
  }

  #balance(
    balancer: Balancer,
    does: (destination: BalancerDestination) => Statement,
    place: Pick<Hop, 'hook' | 'chain'>,
    traveller: Traveller,
    host: Surroundings,
    open: Traveller[],
  ): void {
    const { src, remembered } = traveller.packet;
    const known = remembered.get(balancer.name) ?? host.isRemembered?.(balancer.name, src);
    const rule = { text: balancer.text, matches: [], statements: [] };
    const branches = branchesOf(balancer, does, known);
    const [own, ...others] = splitInto(traveller, branches, { statements: [], hop: { ...place, rule } });
    open.push(...others.reverse());
    if (own !== traveller) Object.assign(traveller, own);
  }

  #frame(chain: Chain, { packet }: Traveller, below: Frame | undefined): Frame {
    return { chain, rules: this.#index.rulesFor(chain, packet.dst, packet.dstPort), at: 0, below };
  }

  #meet(rule: Rule, frame: Frame, traveller: Traveller, host: Surroundings, open: Traveller[]): End | undefined {
    traveller.frame = { ...frame, at: frame.at + 1 };
    const lists = { table: this.#tables.get(frame.chain)!, ipSets: this.#rules.ipSets };
    const judgement = judgeRule(rule, traveller.packet, host, lists);
    if (judgement.kind === 'no') return undefined;
    const fork = forkAt(traveller, judgement, rule);
    if (fork) open.push(fork.other);
    for (const match of rule.matches) {
      if (match.kind === 'remember')
        traveller.packet.remembered = new Map(traveller.packet.remembered).set(match.list, true);
    }
    traveller.pending = {
      statements: rule.statements,
      hop: { hook: traveller.hook, chain: frame.chain, rule, ...fork?.hop },
    };
    return undefined;
  }

  /** Does what a matching rule says. A look into a map may find several things; each but the first goes on by itself. */
  #work({ statements, hop }: Pending, traveller: Traveller, host: Surroundings, open: Traveller[]): End | undefined {
    traveller.pending = undefined;
    for (const [i, statement] of statements.entries()) {
      if (statement.kind === 'verdict-map' || statement.kind === 'dnat-map') {
        const table = this.#tables.get(hop.chain)!;
        const branches = branchesAt(statement, traveller.packet, table, host);
        const [own, ...others] = splitInto(traveller, branches, { statements: statements.slice(i + 1), hop });
        open.push(...others.reverse());
        if (own !== traveller) Object.assign(traveller, own);
        return undefined;
      }
      const done = this.#obey(statement, traveller, host, hop);
      if (done === 'next-rule') return undefined;
      if (done) return done;
    }
    return undefined;
  }

  /** Undefined: on to the next statement. */
  #obey(
    statement: Statement,
    traveller: Traveller,
    host: Surroundings,
    hop: Omit<Hop, 'did'>,
  ): End | 'next-rule' | undefined {
    const { packet } = traveller;
    if (statement.kind !== 'note' && statement.kind !== 'remember-in')
      addHop(traveller, { ...hop, did: statement, packet });
    switch (statement.kind) {
      case 'note':
      case 'remember-in':
        return undefined;
      case 'accept':
        traveller.frame = undefined;
        return 'next-rule';
      case 'drop':
        return { kind: 'dropped' };
      case 'reject':
        return { kind: 'rejected', with: statement.with };
      case 'return':
        return leaveChain(traveller) ?? 'next-rule';
      case 'jump':
      case 'goto': {
        const target = this.#tables.get(hop.chain)?.chains.get(statement.chain);
        if (!target) return { kind: 'unjudged', reason: `there is no chain ${statement.chain}` };
        const here = traveller.frame!;
        traveller.frame = this.#frame(target, traveller, statement.kind === 'jump' ? here : here.below);
        return 'next-rule';
      }
      case 'dnat':
        packet.dst = statement.ip ?? packet.dst;
        packet.dstPort = statement.port ?? packet.dstPort;
        packet.isDestinationChanged = true;
        return translated(traveller);
      case 'send-on':
        sendOn(traveller, statement.ip, statement.port, host);
        return 'next-rule';
      case 'connect':
        relay(traveller, statement.ip, statement.port, host);
        return 'next-rule';
      case 'redirect':
        packet.dst = traveller.isFromThisHost ? loopback(packet.dst) : host.address;
        packet.dstPort = statement.port ?? packet.dstPort;
        packet.isDestinationChanged = true;
        return translated(traveller);
      case 'snat':
        packet.src = statement.ip ?? packet.src;
        packet.isSourceChanged = true;
        traveller.isMasqueraded ||= host.isOwnAddress(packet.src);
        return translated(traveller);
      case 'masquerade':
        packet.src = host.address;
        packet.isSourceChanged = true;
        traveller.isMasqueraded = true;
        return translated(traveller);
      case 'mark':
        packet.mark = ((packet.mark & statement.keep) ^ statement.flip) >>> 0;
        return undefined;
      case 'connection-mark':
        traveller.connectionMark = ((traveller.connectionMark & statement.keep) ^ statement.flip) >>> 0;
        return undefined;
      case 'save-mark':
        traveller.connectionMark = packet.mark;
        return undefined;
      case 'restore-mark':
        packet.mark = traveller.connectionMark;
        return undefined;
      case 'untrack':
        packet.state = 'UNTRACKED';
        return undefined;
      case 'verdict-map':
      case 'dnat-map':
        throw new Error('a look into a map is branched before it is obeyed');
      case 'unknown':
        return { kind: 'unjudged', reason: `what "${statement.text}" does is not followed` };
      default:
        return assertNever(statement);
    }
  }
}

function keyOf(protocol: string, ip: string, port: number): string {
  return balancerKey(protocol, hostPort(ip, port));
}
