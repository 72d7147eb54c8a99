// The alerting rules and the dashboard that ship with Portolan name only metrics and labels that exist.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { parse } from 'yaml';

interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly refId: string }[];
}

interface Metric {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
}

const contract: { metrics: Metric[]; own: Metric[] } = JSON.parse(
  await readFile(new URL('metrics-contract.json', import.meta.url), 'utf8'),
);
const known = new Map([...contract.metrics, ...contract.own].map((metric) => [metric.name, metric]));
const rulesText = await readFile(new URL('../../deploy/prometheus-rules.yaml', import.meta.url), 'utf8');
const rules: Rule[] = parse(rulesText).groups.flatMap((group: { rules: Rule[] }) => group.rules);
const dashboard: { panels: Panel[] } = JSON.parse(
  await readFile(new URL('../../deploy/grafana-dashboard.json', import.meta.url), 'utf8'),
);
const recorded = new Set(rules.flatMap(({ record }) => record ?? []));

/** The metrics an expression reads, told from functions and labels by their prefix. */
function metricNames(expression: string): string[] {
  return expression.match(/\b(?:kubeproxy|kubernetes|rest_client|process|portolan)_[a-z_]+(?::[a-z0-9_:]+)?/g) ?? [];
}

function isKnown(name: string): boolean {
  if (known.has(name) || recorded.has(name)) return true;
  const histogram = known.get(name.replace(/_(bucket|sum|count)$/, ''));
  return histogram?.type === 'histogram';
}

test('every metric in the alerting rules exists', () => {
  assert.ok(rules.length > 10);
  for (const { expr } of rules) {
    for (const name of metricNames(expr)) assert.ok(isKnown(name), `${name} in: ${expr}`);
  }
});

test('every alert says how bad it is, what happened and what it means', () => {
  for (const { alert, labels, annotations } of rules.filter((rule) => rule.alert)) {
    assert.match(labels?.severity ?? '', /^(critical|warning|info)$/, alert);
    assert.ok(annotations?.summary && annotations.description, alert);
  }
});

test('every metric in the dashboard exists, and every panel with a query asks for one', () => {
  for (const { title, targets = [] } of dashboard.panels) {
    for (const { expr } of targets) {
      const names = metricNames(expr);
      assert.ok(names.length > 0 || /\bup\b/.test(expr), title);
      for (const name of names) assert.ok(isKnown(name), `${name} in panel: ${title}`);
    }
  }
});

test('the dashboard stands on what every kube-proxy has: it reads no recorded series', () => {
  for (const { targets = [] } of dashboard.panels) {
    for (const { expr } of targets) assert.ok(!metricNames(expr).some((name) => recorded.has(name)), expr);
  }
});

test('panels have their own numbers and do not overlap', () => {
  const { panels } = dashboard;
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  for (const [i, { title, gridPos: a }] of panels.entries()) {
    assert.ok(a.x + a.w <= 24, title);
    for (const { title: other, gridPos: b } of panels.slice(i + 1)) {
      const areApart = a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y;
      assert.ok(areApart, `${title} and ${other}`);
    }
  }
});
