import assert from 'node:assert/strict';
import { test } from 'node:test';
import { negotiateExposition, printMetrics } from './exposition.ts';
import { Registry } from './metrics.ts';

const TEXT = negotiateExposition(undefined);
const OPEN = negotiateExposition('application/openmetrics-text; version=1.0.0');

async function printed(registry: Registry, exposition = TEXT): Promise<string> {
  return printMetrics(await registry.gather(), exposition);
}

test('families come by name, series by label values, labels by name', async () => {
  const registry = new Registry();
  const shared = registry.gaugeBy({ name: 'b', help: 'B' }, ['z', 'a']);
  shared.of({ z: '1', a: 'y' }).set(1);
  shared.of({ z: '2', a: 'x' }).set(2);
  registry.counter({ name: 'a_total', help: 'A' }).increment(3);
  assert.equal(
    await printed(registry),
    '# HELP a_total A\n# TYPE a_total counter\na_total 3\n# HELP b B\n# TYPE b gauge\nb{a="x",z="2"} 2\nb{a="y",z="1"} 1\n',
  );
});

test('a histogram counts each value in every bucket that holds it', async () => {
  const registry = new Registry();
  const histogram = registry.histogram({ name: 'h', help: 'H' }, [0.5, 1]);
  for (const value of [0.5, 0.75, 3, Number.NaN]) histogram.observe(value);
  assert.equal(
    await printed(registry),
    '# HELP h H\n# TYPE h histogram\nh_bucket{le="0.5"} 1\nh_bucket{le="1"} 2\nh_bucket{le="+Inf"} 3\nh_sum 4.25\nh_count 3\n',
  );
});

test('quotes, backslashes and line ends are escaped where they would break a line', async () => {
  const registry = new Registry();
  registry.gaugeBy({ name: 'g', help: 'a "b" \\ c\nd' }, ['l']).of({ l: 'a"b\\c\nd' }).set(Number.NaN);
  assert.equal(await printed(registry), '# HELP g a "b" \\\\ c\\nd\n# TYPE g gauge\ng{l="a\\"b\\\\c\\nd"} NaN\n');
  assert.match(await printed(registry, OPEN), /^# HELP g a \\"b\\" /);
});

test('OpenMetrics names counters without their suffix, writes floats and says where it ends', async () => {
  const registry = new Registry();
  registry.counter({ name: 'c_total', help: 'C' }).increment();
  registry.gauge({ name: 'rules_total', help: 'A gauge keeps its name' }).set(-1.5);
  assert.equal(
    await printed(registry, OPEN),
    '# HELP c C\n# TYPE c counter\nc_total 1.0\n' +
      '# HELP rules_total A gauge keeps its name\n# TYPE rules_total gauge\nrules_total -1.5\n# EOF\n',
  );
});

test('a metric registered twice, and a counter without its suffix, are mistakes', () => {
  const registry = new Registry();
  registry.gauge({ name: 'g', help: 'G' });
  assert.throws(() => registry.gauge({ name: 'g', help: 'G' }), /registered twice/);
  assert.throws(() => registry.counter({ name: 'c', help: 'C' }), /must end in _total/);
});

test('the format is the one liked best among those that can be written', () => {
  const formats: Record<string, string> = {
    '': 'text/plain; version=0.0.4; charset=utf-8',
    '*/*': 'text/plain; version=0.0.4; charset=utf-8',
    'application/openmetrics-text': 'application/openmetrics-text; version=0.0.1; charset=utf-8',
    'application/openmetrics-text;version=2.0.0': 'text/plain; version=0.0.4; charset=utf-8',
    'application/openmetrics-text;version=1.0.0;q=0.2,text/plain;q=0.5': 'text/plain; version=0.0.4; charset=utf-8',
    'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7,application/openmetrics-text;version=1.0.0;q=0.6':
      'application/openmetrics-text; version=1.0.0; charset=utf-8',
  };
  for (const [accept, contentType] of Object.entries(formats)) {
    assert.equal(negotiateExposition(accept).contentType, contentType, accept);
  }
});
