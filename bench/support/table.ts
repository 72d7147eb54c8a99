// Rows as a table of aligned columns.

export function printTable(title: string, rows: readonly Readonly<Record<string, string>>[]): void {
  const columns = Object.keys(rows[0] ?? {});
  const widths = columns.map((column) => Math.max(column.length, ...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]): string =>
    cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ');
  console.log(`\n${title}\n`);
  console.log(line(columns));
  console.log(line(widths.map((width) => '-'.repeat(width))));
  for (const row of rows) console.log(line(columns.map((column) => row[column]!)));
}

/** Three significant digits, with the unit that suits. */
export function duration(milliseconds: number): string {
  if (milliseconds >= 1000) return `${(milliseconds / 1000).toPrecision(3)} s`;
  if (milliseconds >= 1) return `${milliseconds.toPrecision(3)} ms`;
  return `${(milliseconds * 1000).toPrecision(3)} us`;
}

export function count(number: number): string {
  return number.toLocaleString('en-US', { maximumFractionDigits: 0 });
}

export function ratio(value: number, baseline: number): string {
  return `${(value / baseline).toFixed(value / baseline < 10 ? 2 : 0)}x`;
}
