// In: the rules of userspace mode as they would be with imagined ports, and as a kernel holds them.  Out: which port each relay has.
// A rule that says the same as a planned one, but for its target, leads to that one's relay.
import { CHAINS } from '../../modes/userspace/rules.ts';
import type { Rule, Ruleset } from '../trace/ruleset.ts';
import { canonicalMatches } from '../verify/canonical.ts';

/** `keyOf`: the relay that an imagined port stands for. By key; relays that no rule leads to are absent. */
export function relayPorts(
  imagined: Ruleset,
  keyOf: (port: number) => string | undefined,
  held: Ruleset,
): ReadonlyMap<string, number> {
  const ports = new Map<string, number>();
  const taken = new Set<string>();
  const take = (key: string, port: number): void => {
    if (ports.has(key) || taken.has(`${protocolOf(key)} ${port}`)) return;
    ports.set(key, port);
    taken.add(`${protocolOf(key)} ${port}`);
  };
  for (const { key, port } of votes(imagined, keyOf, held)) take(key, port);
  // What is left is told by the rules that let packets pass to relays, where just one of a service is not known.
  const admitted = Map.groupBy(admissions(held), ({ service }) => service);
  const unknown = Map.groupBy(
    admissions(imagined)
      .map(({ port }) => keyOf(port)!)
      .filter((key) => !ports.has(key)),
    serviceOf,
  );
  for (const [service, [key, ...others]] of unknown) {
    const left = (admitted.get(service) ?? []).filter(({ port }) => !taken.has(`${protocolOf(key!)} ${port}`));
    if (others.length === 0 && left.length === 1) take(key!, left[0]!.port);
  }
  return ports;
}

interface Vote {
  readonly key: string;
  readonly port: number;
  count: number;
}

/** Where rules do not agree, most are right, and those that name the service count twice. */
function votes(imagined: Ruleset, keyOf: (port: number) => string | undefined, held: Ruleset): readonly Vote[] {
  const keyAt = new Map<string, string>();
  for (const { place, port } of translations(imagined)) keyAt.set(place, keyOf(port)!);
  const found = new Map<string, Vote>();
  for (const { place, port, rule } of translations(held)) {
    const key = keyAt.get(place);
    if (key === undefined) continue;
    const vote = found.get(`${key} ${port}`) ?? { key, port, count: 0 };
    vote.count += rule.text.includes(`"${serviceOf(key).split(' ')[0]}"`) ? 2 : 1;
    found.set(`${key} ${port}`, vote);
  }
  return [...found.values()].sort((a, b) => b.count - a.count);
}

/** `place`: the chain and what the rule asks. */
function* translations({
  tables,
}: Ruleset): Generator<{ readonly place: string; readonly port: number; readonly rule: Rule }> {
  for (const { name, rules } of tables.find((table) => table.name === 'nat')?.chains.values() ?? []) {
    for (const rule of rules) {
      const [target] = rule.statements;
      if (target?.kind !== 'dnat' || target.port === undefined) continue;
      yield { place: `${name} ${canonicalMatches(rule)}`, port: target.port, rule };
    }
  }
}

/** `service`: as serviceOf names it. */
function admissions({ tables }: Ruleset): readonly { readonly service: string; readonly port: number }[] {
  const rules = tables.find(({ name }) => name === 'filter')?.chains.get(CHAINS.nonLocal)?.rules ?? [];
  return rules.flatMap(({ text, matches }) => {
    const ports = matches.find((match) => match.kind === 'ports');
    const protocol = matches.find((match) => match.kind === 'protocol');
    const name = /--comment "([^"]+)"/.exec(text)?.[1];
    if (ports?.kind !== 'ports' || protocol?.kind !== 'protocol' || name === undefined) return [];
    return [{ service: `${name} ${protocol.protocol}`, port: ports.ranges[0]![0] }];
  });
}

/** Of `shop/web:http/TCP cluster`: `shop/web:http tcp`. */
function serviceOf(key: string): string {
  return `${key.slice(0, key.lastIndexOf('/'))} ${protocolOf(key)}`;
}

function protocolOf(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1, key.lastIndexOf(' ')).toLowerCase();
}
