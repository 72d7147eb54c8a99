// In: two texts.  Out: which lines went and which came, and how a terminal shows them.
// Lines of rules are unique but for COMMIT, so a comparison as multisets, told in the order of the texts, reads well and is quick.

export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed';
  readonly text: string;
}

export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const old = lines(before);
  const now = lines(after);
  const inOld = counts(old);
  const inNow = counts(now);
  const rest = now.map((text): DiffLine => ({ kind: take(inOld, text) ? 'same' : 'added', text }));
  // A removed line is told after the last line in front of it that is still there.
  const removedAfter = new Map<string, DiffLine[]>();
  let anchor = '';
  for (const text of old) {
    if (take(inNow, text)) anchor = text;
    else removedAfter.set(anchor, [...(removedAfter.get(anchor) ?? []), { kind: 'removed', text }]);
  }
  const removedAt = (text: string): readonly DiffLine[] => {
    const removed = removedAfter.get(text) ?? [];
    removedAfter.delete(text);
    return removed;
  };
  return [
    ...removedAt(''),
    ...rest.flatMap((line) => (line.kind === 'same' ? [line, ...removedAt(line.text)] : [line])),
  ];
}

/** Only what changed, under the table it stands in. */
export function paint(diff: readonly DiffLine[], stream: { readonly isTTY?: boolean }): string {
  const colour = (code: number, text: string): string => (stream.isTTY ? `\x1b[${code}m${text}\x1b[0m` : text);
  let heading = '';
  let printed = '';
  const out: string[] = [];
  for (const { kind, text } of diff) {
    if (text.startsWith('*') || text.startsWith('table ')) heading = text;
    if (kind === 'same') continue;
    if (heading !== printed && heading !== text) out.push(`  ${heading}`);
    printed = heading;
    out.push(kind === 'added' ? colour(32, `+ ${text}`) : colour(31, `- ${text}`));
  }
  return out.length === 0 ? 'nothing changes\n' : `${out.join('\n')}\n`;
}

function lines(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '');
}

function counts(all: readonly string[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const line of all) found.set(line, (found.get(line) ?? 0) + 1);
  return found;
}

/** Takes one copy of a line, if there is one left. */
function take(from: Map<string, number>, line: string): boolean {
  const left = from.get(line) ?? 0;
  if (left === 0) return false;
  from.set(line, left - 1);
  return true;
}
