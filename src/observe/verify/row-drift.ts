// In: the rows of two sets or maps.  Out: those that one has too much, too little, or with another value.
import type { ElementSet } from '../trace/ruleset.ts';
import type { Drift } from './drift.ts';

/** What stands in a set that rules fill is nobody's plan. */
export function rowDrift(table: string, planned: ElementSet, held: ElementSet | undefined): readonly Drift[] {
  const at = { table, chain: planned.name };
  if (planned.isDynamic) return [];
  if (!held) return [{ ...at, kind: 'missing-chain' }];
  return elementDrift(at, planned.elements, held.elements);
}

export function elementDrift(
  at: { readonly table: string; readonly chain: string },
  planned: ReadonlyMap<string, string>,
  held: ReadonlyMap<string, string>,
): readonly Drift[] {
  const drifts: Drift[] = [];
  for (const [key, value] of planned) {
    const there = held.get(key);
    if (there === undefined) drifts.push({ ...at, kind: 'missing-row', row: rowText(key, value) });
    else if (there !== value)
      drifts.push({ ...at, kind: 'wrong-row', row: rowText(key, there), planned: rowText(key, value) });
  }
  for (const [key, value] of held)
    if (!planned.has(key)) drifts.push({ ...at, kind: 'extra-row', row: rowText(key, value) });
  return drifts;
}

function rowText(key: string, value: string): string {
  return value === '' ? key : `${key} : ${value}`;
}
