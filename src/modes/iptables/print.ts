// In: a plan.  Out: the text that iptables-restore loads, with everything this node would hold in an empty host.
import { JUMPS, type Table } from './jumps.ts';
import type { IptablesPlan, ServicePart } from './plan.ts';

export function print(plan: IptablesPlan): string {
  const text = fullText(plan, {
    stale: [],
    missing: { mangle: [CANARY_CHAIN], filter: [CANARY_CHAIN, 'KUBE-FIREWALL'], nat: [CANARY_CHAIN] },
    // Ensured one by one, each goes to the front; written at once, the last comes first.
    jumps: (table) =>
      JUMPS.filter((jump) => jump.table === table)
        .map(({ from, rule }) => `-A ${from} ${rule}`)
        .reverse(),
  });
  return `${text.join('\n')}\n`;
}

/** An empty chain in each table: when it is gone, somebody has flushed the rules. */
export const CANARY_CHAIN = 'KUBE-PROXY-CANARY';

export interface Surroundings {
  /** Chains of services that no longer exist. */
  readonly stale: readonly string[];
  /** Chains to make if nobody has, and to leave as they are otherwise: they are not (only) ours. */
  readonly missing: Readonly<Record<Table, readonly string[]>>;
  readonly jumps: (table: Table) => readonly string[];
  /** The services' own chains have been written before. */
  readonly hasOwnChains?: boolean;
}

/** Every chain of ours written anew, in the order of upstream's full sync. */
export function fullText(plan: IptablesPlan, surroundings: Surroundings): string[] {
  const { stale, missing, jumps, hasOwnChains = false } = surroundings;
  const { fixed } = plan;
  const lines: string[] = [];
  if (missing.mangle.length > 0) lines.push('*mangle', ...missing.mangle.map(chainLine), 'COMMIT');

  lines.push('*filter', ...fixed.filterChains.map(chainLine));
  lines.push(...missing.filter.filter((chain) => !fixed.filterChains.includes(chain)).map(chainLine));
  lines.push(...fixed.filterHead);
  const parts = sortedParts(plan);
  for (const part of parts) for (const rules of part) for (const rule of rules.filter) lines.push(rule);
  lines.push(...fixed.filterTail, ...jumps('filter'), 'COMMIT');

  lines.push('*nat', ...fixed.natChains.map(chainLine), ...missing.nat.map(chainLine));
  if (!hasOwnChains) pushOwnChains(lines, parts);
  for (const chain of stale) lines.push(chainLine(chain)); // emptied first, so that none refers to another when it goes
  lines.push(...fixed.natHead);
  for (const part of parts) {
    for (const rules of part) {
      for (const rule of rules.natDispatch) lines.push(rule);
      if (!hasOwnChains) for (const rule of rules.natRules) lines.push(rule);
    }
  }
  for (const chain of stale) lines.push(`-X ${chain}`);
  lines.push(...fixed.natTail, ...jumps('nat'), 'COMMIT');
  return lines;
}

/** The services' own chains, a number of services at a time. Nothing leads to a new one before the shared chains are written,
 *  and an old one is replaced whole, so that packets never see half of a service. */
export function* ownChainBatches(plan: IptablesPlan, servicesPerBatch: number): Generator<readonly string[]> {
  const parts = sortedParts(plan);
  for (let at = 0; at < parts.length; at += servicesPerBatch) {
    const batch = parts.slice(at, at + servicesPerBatch);
    const lines = ['*nat', chainLine(MARK_CHAIN)];
    pushOwnChains(lines, batch);
    lines.push(...plan.fixed.natHead.filter((rule) => rule.startsWith(`-A ${MARK_CHAIN} `)));
    for (const part of batch) for (const rules of part) for (const rule of rules.natRules) lines.push(rule);
    yield [...lines, 'COMMIT'];
  }
}

/** The one shared chain that services' own chains jump to. */
const MARK_CHAIN = 'KUBE-MARK-MASQ';

function pushOwnChains(lines: string[], parts: readonly ServicePart[]): void {
  for (const part of parts) for (const rules of part) for (const chain of rules.natChains) lines.push(chainLine(chain));
}

/** Creates the chain, or empties it if it exists. */
export function chainLine(chain: string): string {
  return `:${chain} - [0:0]`;
}

function sortedParts(plan: IptablesPlan): readonly ServicePart[] {
  return [...plan.services.keys()].sort().map((name) => plan.services.get(name)!);
}
