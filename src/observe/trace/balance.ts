// In: a balancer and what is known of the client.  Out: whom it may choose, each with its share, and what it depends on.
import { fraction, ONE } from './fraction.ts';
import type { Branch } from './map-branches.ts';
import type { Condition } from './packet.ts';
import type { Balancer, BalancerDestination, Chain, Statement, Table } from './ruleset.ts';

/** `known`: whether it remembers this client, as far as that is decided. */
export function branchesOf(
  balancer: Balancer,
  does: (destination: BalancerDestination) => Statement,
  known: boolean | undefined,
): readonly Branch[] {
  const { destinations, isSticky, chosenBy, without, name } = balancer;
  const open = destinations.filter(({ weight }) => weight > 0);
  const total = open.reduce((sum, { weight }) => sum + weight, 0);
  if (total === 0) return [{ does: without, share: ONE }];
  const memory = (holds: boolean): Condition => ({ kind: 'remembered', list: name, holds });
  const remembered = open.map(
    (one): Branch => ({
      does: does(one),
      share: ONE,
      condition: memory(true),
      row: one.text,
    }),
  );
  const fresh = open.map((one): Branch => {
    const share = open.length === 1 ? ONE : fraction(one.weight, total);
    const condition: Condition | undefined =
      isSticky && known === undefined
        ? memory(false)
        : chosenBy && open.length > 1
          ? { kind: 'chosen', by: chosenBy, holds: true }
          : undefined;
    return { does: does(one), share, row: one.text, ...(condition && { condition }) };
  });
  if (!isSticky || known === false) return fresh;
  return known ? remembered : [...remembered, ...fresh];
}

/** Where ip_vs looks at packets (net/netfilter/ipvs/ip_vs_core.c): at those for this host after the filter table, at those of its own
 *  processes after their destination was translated. */
export const IP_VS: Table = {
  name: 'ip_vs',
  origin: 'ip_vs',
  chains: new Map([
    ['LOCAL_IN', ipVsChain('LOCAL_IN', 'input', 99)],
    ['LOCAL_OUT', ipVsChain('LOCAL_OUT', 'output', -98)],
  ]),
  sets: new Map(),
};

function ipVsChain(name: string, hook: 'input' | 'output', priority: number): Chain {
  const base = { hook, priority, type: 'filter', policy: 'accept' } as const;
  return { table: 'ip_vs', origin: 'ip_vs', name, base, rules: [] };
}

/** Where a process stands that takes what is delivered to this host. */
export const RELAYS: Chain = { table: 'process', origin: 'relay', name: 'relay', rules: [] };
