// In: a statement that looks up what to do.  Out: what it may find: each draw, each client's memory, or nothing.
import { parseIp } from '../../lib/ip.ts';
import { type Fraction, ONE } from './fraction.ts';
import type { Travelling } from './judge.ts';
import type { Condition, Surroundings } from './packet.ts';
import type { KeyPart, Statement, Table } from './ruleset.ts';
import { keysOf, lookUp, setOf } from './sets.ts';

export type Lookup = Extract<Statement, { readonly kind: 'verdict-map' | 'dnat-map' }>;

export interface Branch {
  /** Undefined: nothing is found, and the next rule is asked. */
  readonly does: Statement | undefined;
  readonly share: Fraction;
  readonly condition?: Condition;
  /** The element that was found. */
  readonly row?: string;
}

export function branchesAt(lookup: Lookup, packet: Travelling, table: Table, host: Surroundings): readonly Branch[] {
  const map = setOf(lookup.map, table);
  if (!map) return [{ does: { kind: 'unknown', text: `a look into map ${lookup.map}` }, share: ONE }];
  if (!map.isDynamic) {
    return keysOf(lookup.key, packet).map(({ text, share }) => {
      const value = lookUp(map, text);
      if (value === undefined) return { does: undefined, share };
      return { does: found(lookup, value), share, row: `${map.name}: ${text} : ${value}` };
    });
  }
  const known = packet.remembered.get(map.name) ?? host.isRemembered?.(map.name, packet.src);
  const forgotten: Branch = { does: undefined, share: ONE };
  if (known === false) return [forgotten];
  const condition = (holds: boolean): Condition => ({ kind: 'remembered', list: map.name, holds });
  const remembered = memoriesOf(map.name, packet, table)
    .map((value) => found(lookup, value))
    .filter((does) => does.kind === 'dnat' && (lookup.kind !== 'dnat-map' || does.port === (lookup.port ?? does.port)))
    .map((does): Branch => ({ does, share: ONE, condition: condition(true) }));
  return [...remembered, { ...forgotten, condition: condition(false) }];
}

/** `goto pick-2`, `drop`; `10.1.0.7 . 8080`, `10.1.0.7`. */
function found(lookup: Lookup, value: string): Statement {
  if (lookup.kind === 'verdict-map') return verdictOf(value);
  const [address, port] = value.split(' . ') as [string, string | undefined];
  const ip = parseIp(address);
  if (ip === undefined) return { kind: 'unknown', text: `dnat to ${value}` };
  return { kind: 'dnat', ip, port: port === undefined ? lookup.port : Number(port) };
}

export function verdictOf(text: string): Statement {
  const [kind, chain] = text.split(' ') as [string, string | undefined];
  if ((kind === 'jump' || kind === 'goto') && chain !== undefined) return { kind, chain };
  if (kind === 'accept' || kind === 'drop' || kind === 'return') return { kind };
  return { kind: 'unknown', text };
}

/** Which destinations rules would ever remember in a map, for packets that were sent where this one is. They do so in chains
 *  that a verdict map leads to, by what the packet has become: its key ends with the new destination. */
function memoriesOf(map: string, packet: Travelling, table: Table): readonly string[] {
  return memoryRules(table).flatMap(({ key, byPrefix }) => {
    const [prefix] = keysOf(key.slice(0, -2), packet);
    return prefix ? (byPrefix.get(`${map} ${prefix.text}`) ?? []) : [];
  });
}

interface MemoryRule {
  readonly key: readonly KeyPart[];
  /** By the map's name and the key without the new destination. */
  readonly byPrefix: ReadonlyMap<string, readonly string[]>;
}

const memoryRulesOf = new WeakMap<Table, readonly MemoryRule[]>();

function memoryRules(table: Table): readonly MemoryRule[] {
  const known = memoryRulesOf.get(table);
  if (known) return known;
  const found = [...table.chains.values()].flatMap(({ rules }) =>
    rules.flatMap(({ statements }) => statements.flatMap((statement) => memoryRule(statement, table) ?? [])),
  );
  memoryRulesOf.set(table, found);
  return found;
}

function memoryRule(statement: Statement, table: Table): MemoryRule | undefined {
  if (statement.kind !== 'verdict-map' || !endsWithDestination(statement.key)) return undefined;
  const byPrefix = new Map<string, string[]>();
  for (const [key, value] of setOf(statement.map, table)?.elements ?? []) {
    const parts = key.split(' . ');
    for (const map of remembersIn(value, table)) {
      const prefix = `${map} ${parts.slice(0, -2).join(' . ')}`;
      const before = byPrefix.get(prefix);
      const destination = parts.slice(-2).join(' . ');
      if (before) before.push(destination);
      else byPrefix.set(prefix, [destination]);
    }
  }
  return { key: statement.key, byPrefix };
}

function endsWithDestination(key: readonly KeyPart[]): boolean {
  const [ip, port] = key.slice(-2);
  return (
    ip?.kind === 'field' && ip.field === 'dst' && port?.kind === 'field' && port.field === 'dst-port' && key.length > 3
  );
}

function remembersIn(verdict: string, table: Table): readonly string[] {
  const does = verdictOf(verdict);
  if (does.kind !== 'goto' && does.kind !== 'jump') return [];
  const rules = table.chains.get(does.chain)?.rules ?? [];
  return rules.flatMap(({ statements }) => statements.flatMap((one) => (one.kind === 'remember-in' ? [one.set] : [])));
}
