import assert from 'node:assert/strict';
import test from 'node:test';
import { createLog, DEFAULT_LOG_SETTINGS, type LogSettings } from './log.ts';
import { matchesFile, parseFrame } from './log-caller.ts';
import { jsonLine, textLine } from './log-format.ts';
import { ProblemLog } from './log-problems.ts';

const TIME = new Date(2026, 2, 2, 9, 14, 31, 401).getTime() + 0.873;
const CONTEXT = { time: TIME, pid: 1, caller: 'server.ts:123' };

function capture(settings: Partial<LogSettings> = {}) {
  const lines: string[] = [];
  const world = {
    write: (stream: string, line: string) => lines.push(`${stream} ${line}`),
    now: () => TIME,
    pid: 1,
  };
  return { lines, log: createLog({ ...DEFAULT_LOG_SETTINGS, ...settings }, world) };
}

test('a text record has severity, date, time, process, place, quoted message and pairs', () => {
  const line = textLine({ severity: 'info', message: 'Message', values: { key: 'value', num: 3 } }, CONTEXT);
  assert.equal(line, 'I0302 09:14:31.401873       1 server.ts:123] "Message" key="value" num=3\n');
});

test('an error stands before the pairs', () => {
  const line = textLine(
    { severity: 'error', message: 'Failed', error: new Error('no "x"'), values: { a: 1 } },
    CONTEXT,
  );
  assert.equal(line, 'E0302 09:14:31.401873       1 server.ts:123] "Failed" err="no \\"x\\"" a=1\n');
});

test('values of every kind have a text on one line', () => {
  const values = {
    lines: 'a\nb',
    list: ['x', 'y'],
    object: { a: 1n },
    none: undefined,
    yes: true,
    big: 5n,
    set: new Set(['s']),
    map: new Map([['k', 'v']]),
    error: new Error('e'),
    'primary ipFamily': 'IPv4',
  };
  const line = textLine({ severity: 'info', message: 'm', values }, CONTEXT);
  assert.equal(
    line.slice(line.indexOf(']') + 2),
    '"m" lines="a\\nb" list=["x","y"] object={"a":"1"} none=<nil> yes=true big=5 set=["s"] map={"k":"v"} error="e" "primary ipFamily"="IPv4"\n',
  );
});

test('a JSON record has time in milliseconds, place, message, v or err, then the pairs', () => {
  const info = jsonLine({ severity: 'info', message: 'Message', level: 2, values: { key: 'value', big: 7n } }, CONTEXT);
  assert.equal(info, `{"ts":${TIME},"caller":"server.ts:123","msg":"Message","v":2,"key":"value","big":"7"}\n`);
  const error = jsonLine({ severity: 'error', message: 'Failed', error: new Error('why'), values: { a: 1 } }, CONTEXT);
  assert.equal(error, `{"ts":${TIME},"caller":"server.ts:123","msg":"Failed","err":"why","a":1}\n`);
});

test('a record names the file and line that wrote it', () => {
  const { lines, log } = capture();
  log.info('Here');
  log.error(new Error('x'), 'There');
  assert.match(lines[0]!, /^stderr I0302 .* log\.test\.ts:\d+\] "Here"\n$/);
  assert.match(lines[1]!, /^stderr E0302 .* log\.test\.ts:\d+\] "There" err="x"\n$/);
});

test('info is written up to the verbosity, which can change while running; errors and warnings always', () => {
  const { lines, log } = capture({ verbosity: 1 });
  log.info('one', undefined, 1);
  log.info('two', undefined, 2);
  log.warning('careful');
  log.error('text', 'bad');
  assert.equal(lines.length, 3);
  assert.equal(log.isEnabled(2), false);
  log.setVerbosity(2);
  assert.equal(log.verbosity, 2);
  assert.equal(log.isEnabled(2), true);
  log.info('two', undefined, 2);
  assert.equal(lines.length, 4);
});

test('vmodule raises the verbosity of the files it names', () => {
  const { lines, log } = capture({ vmodule: [{ filePattern: 'log*', verbosity: 4 }] });
  log.info('shown', undefined, 4);
  log.info('not shown', undefined, 5);
  assert.equal(log.isEnabled(4), true);
  assert.equal(lines.length, 1);
  const other = capture({ vmodule: [{ filePattern: 'server', verbosity: 9 }] });
  other.log.info('not shown', undefined, 1);
  assert.deepEqual(other.lines, []);
});

test('a plain line is not quoted', () => {
  const { lines, log } = capture({ verbosity: 1 });
  log.plain('info', 'FLAG: --v="1"', 1);
  log.plain('info', 'hidden', 2);
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, /\] FLAG: --v="1"\n$/);
});

test('a split log has info on standard output and the rest on standard error', () => {
  const { lines, log } = capture({ splitStream: true });
  log.info('a');
  log.warning('b');
  log.error(new Error('x'), 'c');
  assert.deepEqual(
    lines.map((line) => line.split(' ')[0]),
    ['stdout', 'stderr', 'stderr'],
  );
});

test('stack frames of functions and of modules are both understood', () => {
  const named = parseFrame('Error\n    at sync (file:///opt/src/pipeline.ts:31:9)');
  assert.deepEqual(named, { path: '/opt/src/pipeline.ts', file: 'pipeline.ts', line: '31' });
  assert.deepEqual(parseFrame('    at /opt/a.ts:2:1'), { path: '/opt/a.ts', file: 'a.ts', line: '2' });
  assert.equal(parseFrame('nothing').file, 'unknown');
});

test('patterns with a slash are compared with the whole path', () => {
  const caller = { path: '/opt/src/modes/plan.ts', file: 'plan.ts', line: '1' };
  assert.equal(matchesFile('plan', caller), true);
  assert.equal(matchesFile('pl?n', caller), true);
  assert.equal(matchesFile('plan.ts', caller), false);
  assert.equal(matchesFile('/opt/*/modes/*', caller), true);
  assert.equal(matchesFile('/opt/*', caller), false);
});

test('a problem is said once, and again only after it was gone', () => {
  const { lines, log } = capture({ verbosity: 1 });
  const problems = new ProblemLog(log);
  const object = 'Service shop/cart';
  const problem = { object, field: 'spec.externalIPs[1]', reason: 'not an IP address: "10.0.0"' };
  problems.report(object, [problem]);
  problems.report(object, [problem]);
  assert.equal(lines.length, 1);
  assert.deepEqual(problems.all, [problem]);
  problems.report(object, []);
  assert.match(lines[1]!, /"Object was corrected or removed" object="Service shop\/cart"/);
  problems.report(object, [problem]);
  assert.equal(lines.length, 3);
});
