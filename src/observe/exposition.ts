// In: metric families and what the client accepts. Out: the page, as Prometheus text 0.0.4 or as OpenMetrics.
// The differences are few: OpenMetrics drops `_total` from a counter's family name, writes whole numbers as 1.0 and ends
// with a line that says so, which lets a scraper tell a whole page from a cut one.
import { acceptedRanges } from './accept.ts';
import type { HistogramSample, Labels, MetricFamily, NumberSample } from './metrics.ts';

export interface Exposition {
  readonly isOpenMetrics: boolean;
  readonly contentType: string;
}

const TEXT: Exposition = { isOpenMetrics: false, contentType: 'text/plain; version=0.0.4; charset=utf-8' };
const OPEN_METRICS_VERSIONS: readonly string[] = ['0.0.1', '1.0.0'];

/** Text unless OpenMetrics, in a version we can write, is what the client likes best. */
export function negotiateExposition(accept: string | undefined): Exposition {
  for (const { type, parameters } of acceptedRanges(accept)) {
    if (type === 'text/plain' || type === 'text/*' || type === '*/*') return TEXT;
    const version = parameters.version ?? '0.0.1';
    if (type === 'application/openmetrics-text' && OPEN_METRICS_VERSIONS.includes(version)) {
      return { isOpenMetrics: true, contentType: `${type}; version=${version}; charset=utf-8` };
    }
  }
  return TEXT;
}

export function printMetrics(families: readonly MetricFamily[], { isOpenMetrics }: Exposition): string {
  const lines = families.flatMap((family) => [
    ...headerLines(family, isOpenMetrics),
    ...family.samples.flatMap((sample) =>
      'buckets' in sample
        ? histogramLines(family.name, sample, isOpenMetrics)
        : [numberLine(family.name, sample, isOpenMetrics)],
    ),
  ]);
  if (isOpenMetrics) lines.push('# EOF');
  return lines.map((line) => `${line}\n`).join('');
}

function headerLines({ name, help, type }: MetricFamily, isOpenMetrics: boolean): string[] {
  const familyName = isOpenMetrics && type === 'counter' ? name.replace(/_total$/, '') : name;
  const escaped = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return [
    `# HELP ${familyName} ${isOpenMetrics ? escaped.replaceAll('"', '\\"') : escaped}`,
    `# TYPE ${familyName} ${type}`,
  ];
}

function numberLine(name: string, { labels, value }: NumberSample, isOpenMetrics: boolean): string {
  return `${name}${printLabels(labels)} ${printNumber(value, isOpenMetrics)}`;
}

function histogramLines(name: string, { labels, buckets, sum }: HistogramSample, isOpenMetrics: boolean): string[] {
  const count = buckets.at(-1)?.[1] ?? 0;
  return [
    ...buckets.map(
      ([bound, n]) => `${name}_bucket${printLabels({ ...labels, le: printNumber(bound, isOpenMetrics) })} ${n}`,
    ),
    `${name}_sum${printLabels(labels)} ${printNumber(sum, isOpenMetrics)}`,
    `${name}_count${printLabels(labels)} ${count}`,
  ];
}

function printLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

function printNumber(value: number, isOpenMetrics: boolean): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  const text = String(value);
  return isOpenMetrics && /^-?\d+$/.test(text) ? `${text}.0` : text;
}
