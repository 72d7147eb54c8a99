// Reads a metrics page back, so that tests compare what a scraper would see: names, types, labels and buckets.

export interface PageMetric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  /** Sorted; without `le`. */
  readonly labels: readonly string[];
  /** Without the infinite one. */
  readonly buckets?: readonly number[];
}

export function readMetricsPage(text: string): PageMetric[] {
  return text
    .split(/^(?=# HELP )/m)
    .filter((block) => block !== '')
    .map(readFamily);
}

function readFamily(block: string): PageMetric {
  const [helpLine = '', typeLine = '', ...samples] = block.trimEnd().split('\n');
  const [, name = '', help = ''] = /^# HELP (\S+) (.*)$/.exec(helpLine) ?? [];
  const type = typeLine.slice(`# TYPE ${name} `.length);
  const pairs = samples.map((line) => [...line.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)]);
  const labels = [...new Set(pairs.flatMap((found) => found.map((match) => match[1]!)))]
    .filter((l) => l !== 'le')
    .sort();
  if (type !== 'histogram') return { name, type, help, labels };
  const bounds = pairs.flatMap((found) => found.filter((match) => match[1] === 'le').map((match) => Number(match[2])));
  const buckets = [...new Set(bounds)].filter((bound) => Number.isFinite(bound));
  return { name, type, help, labels, buckets };
}
