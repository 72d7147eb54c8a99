// In: why a packet's fate is wrong is not told by rules.  Out: the row of a set or map, or what stands beside rules, that is to blame.
import type { Ruleset } from '../trace/ruleset.ts';
import { besideDrift } from './beside-drift.ts';
import type { Evidence } from './cause.ts';
import type { Drift } from './drift.ts';
import { rowDrift } from './row-drift.ts';

/** Of rows that differ, those that are about the address that was asked, or about the asker. */
export function rowToBlame(evidence: Evidence): Drift | undefined {
  const { plannedRules, heldRules, asked } = evidence;
  const isAbout = (row: string): boolean => {
    const parts = row.split(/ \. | : /);
    return [asked.src, asked.dst, String(asked.dstPort)].some((part) => parts.includes(part));
  };
  for (const { name, origin, sets } of plannedRules.tables) {
    const held = heldRules.tables.find((table) => table.name === name && table.origin === origin);
    const drifts = [...sets.values()].flatMap((set) => rowDrift(name, set, held?.sets.get(set.name)));
    const drift = drifts.find((one) => !('row' in one) || isAbout(one.row));
    if (drift) return drift;
  }
  return besideOf(evidence).find((one) => 'row' in one && isAboutPacket(one, evidence));
}

const driftsBeside = new WeakMap<Ruleset, readonly Drift[]>();

/** The same for all cases of one verification. */
function besideOf({ plannedRules, heldRules, scope }: Evidence): readonly Drift[] {
  const known = driftsBeside.get(heldRules);
  if (known) return known;
  const drifts = besideDrift(plannedRules, heldRules, scope);
  driftsBeside.set(heldRules, drifts);
  return drifts;
}

/** It names an address that the packet has, or would have, on its way. */
function isAboutPacket(drift: Drift & { readonly row: string }, { asked, planned }: Evidence): boolean {
  const ways = planned.flatMap(({ hops }) =>
    hops.flatMap(({ did }) => ('ip' in did && did.ip !== undefined ? [did.ip] : [])),
  );
  const text = `${drift.chain} ${drift.row}`;
  const isNamed = [asked.dst, asked.src, ...ways].some((ip) =>
    new RegExp(`${NO_IP_BEFORE}${escaped(ip)}${NO_IP_AFTER}`).test(text),
  );
  return isNamed || drift.row === String(asked.dstPort);
}

const NO_IP_BEFORE = '(?<![0-9a-f.:])';
const NO_IP_AFTER = '(?![0-9a-f.]|:[0-9a-f]*:)';

function escaped(ip: string): string {
  return ip.replaceAll('.', '\\.');
}
