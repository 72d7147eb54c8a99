// In: the plan of userspace mode, and the rules that a kernel holds, if there are any.  Out: the planned rules and the relays behind
// them, as the walker takes them. Which port a relay has is told by the rules that lead to it; where none is there yet, a name
// stands for the port.
import { hostPort } from '../../lib/ip.ts';
import { fullLines } from '../../modes/userspace/chains.ts';
import { listensOnAll } from '../../modes/userspace/facts.ts';
import type { RelayPlan, UserspacePlan } from '../../modes/userspace/plan.ts';
import { type Rule as RelayRule, ruleText } from '../../modes/userspace/rules.ts';
import { parseIptablesSave } from '../trace/iptables-save.ts';
import { type Balancer, balancerKey, type Chain, type Rule, type Ruleset } from '../trace/ruleset.ts';
import { relayPorts } from './relay-ports.ts';

/** `heldText`: of iptables-save. */
export function userspaceRules(plan: UserspacePlan, heldText: string | undefined): Ruleset {
  const parts = [...plan.services.keys()].sort().map((name) => plan.services.get(name)!);
  const rules = parts.flatMap((part) => part.rules);
  const relays = parts.flatMap((part) => part.relays);
  const stand = new StandIns(relays);
  const imagined = parseRules(plan, rules, (key) => stand.portOf(key));
  const known =
    heldText === undefined
      ? NONE
      : relayPorts(imagined, (port) => stand.keyOf(port), parseIptablesSave(heldText, plan.facts.family));
  const planned = known.size === 0 ? imagined : parseRules(plan, rules, (key) => known.get(key) ?? stand.portOf(key));
  const ip = listensOnAll(plan.facts) ? plan.facts.hostIp : plan.facts.bindAddress;
  return {
    ...planned,
    tables: planned.tables.map((table) => ({
      ...table,
      chains: new Map([...table.chains].map(([name, chain]) => [name, named(chain, stand)])),
    })),
    relays: new Map(
      relays.map((relay) => {
        const port = known.get(relay.key) ?? stand.portOf(relay.key);
        return [balancerKey(relay.protocol, hostPort(ip, port)), relayBalancer(relay, known.get(relay.key))];
      }),
    ),
  };
}

/** `listening`: ports at which somebody does; undefined where it is not known. */
export function runningRelays(
  relays: Ruleset['relays'] = new Map(),
  listening: ReadonlySet<string> | undefined,
): ReadonlyMap<string, Balancer> {
  if (!listening) return relays;
  return new Map([...relays].map(([key, relay]) => [key, isListening(key, listening) ? relay : deadRelay(key, relay)]));
}

function isListening(key: string, listening: ReadonlySet<string>): boolean {
  return listening.has(key.replace(/ .*:/, ' '));
}

function deadRelay(key: string, relay: Balancer): Balancer {
  const refusal = key.startsWith('tcp ') ? 'tcp-reset' : 'port-unreachable';
  return {
    ...relay,
    text: `${relay.text}: nobody listens there`,
    destinations: [],
    without: { kind: 'reject', with: refusal },
  };
}

const NONE: ReadonlyMap<string, number> = new Map();

function parseRules(plan: UserspacePlan, rules: readonly RelayRule[], portOf: (key: string) => number): Ruleset {
  const lines = rules.map((rule) => ruleText(rule, plan.facts, portOf(rule.relay)));
  const text = fullLines(lines, { kind: 'read', chains: new Set(), jumps: new Set() });
  return parseIptablesSave(text.join('\n'), plan.facts.family);
}

/** Numbers that no port has, for relays that have none yet. */
class StandIns {
  readonly #keys: readonly string[];
  readonly #ports = new Map<string, number>();

  constructor(relays: readonly RelayPlan[]) {
    this.#keys = relays.map(({ key }) => key);
    for (const [i, key] of this.#keys.entries()) this.#ports.set(key, FIRST_STAND_IN + i);
  }

  portOf(key: string): number {
    return this.#ports.get(key)!;
  }

  /** Undefined for a real port. */
  keyOf(port: number): string | undefined {
    return this.#keys[port - FIRST_STAND_IN];
  }
}

const FIRST_STAND_IN = 100_000;

/** With the relay's name in place of a number that only stands for its port. */
function named(chain: Chain, stand: StandIns): Chain {
  return { ...chain, rules: chain.rules.map((rule) => namedRule(rule, stand)) };
}

function namedRule(rule: Rule, stand: StandIns): Rule {
  const text = rule.text.replace(/\b\d{6,}$|\b\d{6,}(?= )/, (port) => {
    const key = stand.keyOf(Number(port));
    return key === undefined ? port : `<${key}>`;
  });
  if (text === rule.text) return rule;
  const statements = rule.statements.map((statement) => {
    const key = statement.kind === 'dnat' && statement.port !== undefined ? stand.keyOf(statement.port) : undefined;
    return key === undefined ? statement : { ...statement, name: `<${key}>` };
  });
  return { ...rule, text, statements };
}

function relayBalancer(relay: RelayPlan, port: number | undefined): Balancer {
  const { service, protocol, backends, affinityTimeoutSeconds } = relay;
  const whose = relay.key.endsWith(' local') ? ' for endpoints on this node' : '';
  const text = `the relay of ${service}${whose}${port === undefined ? '' : ` on port ${port}`}`;
  return {
    name: relay.key,
    text: backends.length === 0 ? `${text} has nobody to connect to` : text,
    destinations: backends.map(({ ip, port: to, address }) => ({
      ip,
      port: to,
      weight: 1,
      text: `connects to ${address}`,
    })),
    isSticky: affinityTimeoutSeconds > 0,
    // It has taken a TCP connection before it looks for somebody; a datagram is just not answered.
    without: protocol === 'TCP' ? { kind: 'reject', with: 'tcp-reset' } : { kind: 'drop' },
  };
}
