// Counts as a bar chart for a terminal.
//
//   summary-5d8f7c9b-x2x9k  ████████████████████  52
//   summary-5d8f7c9b-zt4lq  ██████████████████▌   48

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
const WIDTH = 40;

/** In the order of the names, so that two charts can be compared. */
export function barChart(counts: ReadonlyMap<string, number>): string {
  const rows = [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
  const most = Math.max(...rows.map(([, count]) => count), 1);
  const nameWidth = Math.max(...rows.map(([name]) => name.length), 0);
  const total = rows.reduce((sum, [, count]) => sum + count, 0);
  return rows
    .map(([name, count]) => {
      const share = `${count} (${Math.round((100 * count) / total)}%)`;
      return `${name.padEnd(nameWidth)}  ${bar((WIDTH * count) / most).padEnd(WIDTH)}  ${share}\n`;
    })
    .join('');
}

function bar(length: number): string {
  const eighths = Math.round(length * 8);
  return '█'.repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8];
}
