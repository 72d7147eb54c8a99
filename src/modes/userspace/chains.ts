// The chains of userspace mode and the jumps into them. Portals come before what others have in these hooks and node ports after:
// a load balancer's address that is also the node's own must not be taken for a node port.
import type { UserspaceState } from './diff.ts';
import { CHAINS } from './rules.ts';

export type Table = 'nat' | 'filter';

export const TABLE_CHAINS: Readonly<Record<Table, readonly string[]>> = {
  nat: [CHAINS.portalsContainer, CHAINS.portalsHost, CHAINS.nodePortContainer, CHAINS.nodePortHost],
  filter: [CHAINS.nonLocal],
};

export interface Jump {
  readonly table: Table;
  readonly from: string;
  /** The rule as iptables-save prints it, without `-A` and the chain's name. */
  readonly rule: string;
  readonly position: 'first' | 'last';
}

const PORTALS = '-m comment --comment "handle ClusterIPs; NOTE: this must be before the NodePort rules"';
const NODE_PORTS =
  '-m addrtype --dst-type LOCAL -m comment --comment "handle service NodePorts; NOTE: this must be the last rule in the chain"';
const NON_LOCAL = '-m comment --comment "Ensure that non-local NodePort traffic can flow"';

export const JUMPS: readonly Jump[] = [
  { table: 'nat', from: 'PREROUTING', rule: `${PORTALS} -j ${CHAINS.portalsContainer}`, position: 'first' },
  { table: 'nat', from: 'OUTPUT', rule: `${PORTALS} -j ${CHAINS.portalsHost}`, position: 'first' },
  { table: 'nat', from: 'PREROUTING', rule: `${NODE_PORTS} -j ${CHAINS.nodePortContainer}`, position: 'last' },
  { table: 'nat', from: 'OUTPUT', rule: `${NODE_PORTS} -j ${CHAINS.nodePortHost}`, position: 'last' },
  { table: 'filter', from: 'INPUT', rule: `${NON_LOCAL} -j ${CHAINS.nonLocal}`, position: 'first' },
];

/** What the text of iptables-save tells. */
export function heldChains(save: string): UserspaceState {
  const chains = new Set<string>();
  const jumps = new Set<number>();
  let table = '';
  for (const line of save.split('\n')) {
    if (line.startsWith('*')) table = line.slice(1);
    else if (line.startsWith(':')) chains.add(`${table} ${line.slice(1, line.indexOf(' '))}`);
    else if (line.startsWith('-A ')) {
      const index = JUMPS.findIndex((jump) => jump.table === table && line === `-A ${jump.from} ${jump.rule}`);
      if (index >= 0) jumps.add(index);
    }
  }
  return { kind: 'read', chains, jumps };
}

/** Every chain written anew, with the jumps that are missing. `rules` start with the chain's name. */
export function fullLines(rules: readonly string[], held: UserspaceState): string[] {
  return (['nat', 'filter'] as const).flatMap((table) => [
    `*${table}`,
    ...TABLE_CHAINS[table].map((chain) => `:${chain} - [0:0]`),
    ...rules.filter((rule) => tableOf(rule) === table).map((rule) => `-A ${rule}`),
    ...JUMPS.flatMap((jump, i) => {
      if (jump.table !== table || held.jumps.has(i)) return [];
      return [`${jump.position === 'first' ? '-I' : '-A'} ${jump.from} ${jump.rule}`];
    }),
    'COMMIT',
  ]);
}

/** Lines that take some rules out and put others in; none if there are none. */
export function partialLines(removed: readonly string[], added: readonly string[]): string[] {
  return (['nat', 'filter'] as const).flatMap((table) => {
    const of = (rules: readonly string[]): string[] => rules.filter((rule) => tableOf(rule) === table);
    const lines = [...of(removed).map((rule) => `-D ${rule}`), ...of(added).map((rule) => `-A ${rule}`)];
    return lines.length === 0 ? [] : [`*${table}`, ...lines, 'COMMIT'];
  });
}

/** Lines that leave nothing of ours; none if nothing is there. */
export function removalLines(held: UserspaceState): string[] {
  return (['nat', 'filter'] as const).flatMap((table) => {
    const chains = TABLE_CHAINS[table].filter((chain) => held.chains.has(`${table} ${chain}`));
    const jumps = JUMPS.filter((jump, i) => jump.table === table && held.jumps.has(i));
    if (chains.length + jumps.length === 0) return [];
    return [
      `*${table}`,
      ...chains.map((chain) => `:${chain} - [0:0]`),
      ...jumps.map(({ from, rule }) => `-D ${from} ${rule}`),
      ...chains.map((chain) => `-X ${chain}`),
      'COMMIT',
    ];
  });
}

function tableOf(rule: string): Table {
  return rule.startsWith(`${CHAINS.nonLocal} `) ? 'filter' : 'nat';
}
