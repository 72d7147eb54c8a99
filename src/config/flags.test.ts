import assert from 'node:assert/strict';
import test from 'node:test';
import { MINUTE, SECOND } from '../lib/duration.ts';
import type { FlagName } from './flag-table.ts';
import { parseCommandLine } from './flags.ts';

function value(name: FlagName, ...args: string[]): unknown {
  const line = parseCommandLine(args);
  assert.ok('values' in line, 'problem' in line ? line.problem : '');
  assert.ok(line.given.has(name));
  return line.values[name];
}

function problem(...args: string[]): string {
  const line = parseCommandLine(args);
  assert.ok('problem' in line, 'no problem found');
  return line.problem;
}

test('a value follows an equals sign or stands in the next argument', () => {
  assert.equal(value('proxy-mode', '--proxy-mode=ipvs'), 'ipvs');
  assert.equal(value('proxy-mode', '--proxy-mode', 'ipvs'), 'ipvs');
  assert.equal(value('master', '--master=https://a?b=c'), 'https://a?b=c');
  assert.equal(value('kubeconfig', '--kubeconfig='), '');
  assert.equal(problem('--proxy-mode'), 'flag needs an argument: --proxy-mode');
});

test('underscores are dashes', () => {
  assert.equal(value('proxy-mode', '--proxy_mode=ipvs'), 'ipvs');
  assert.equal(value('ipvs-strict-arp', '--ipvs_strict_arp'), true);
});

test('mode is another name for proxy-mode', () => {
  assert.equal(value('proxy-mode', '--mode', 'nftables'), 'nftables');
});

test('booleans stand alone or have an equals sign', () => {
  for (const text of ['1', 't', 'T', 'true', 'TRUE', 'True']) assert.equal(value('cleanup', `--cleanup=${text}`), true);
  for (const text of ['0', 'f', 'F', 'false', 'FALSE', 'False'])
    assert.equal(value('cleanup', `--cleanup=${text}`), false);
  assert.equal(
    problem('--cleanup=maybe'),
    'invalid argument "maybe" for "--cleanup" flag: strconv.ParseBool: parsing "maybe": invalid syntax',
  );
});

test('verbosity has a short form', () => {
  for (const args of [['-v', '4'], ['-v=4'], ['-v4'], ['--v=4'], ['--v', '4'], ['-hv4']]) {
    assert.equal(value('v', ...args), 4);
  }
  assert.match(problem('-vx'), /^invalid argument "x" for "-v, --v" flag: /);
  assert.match(problem('-v=-1'), /^invalid argument "-1" for "-v, --v" flag: /);
  assert.equal(problem('-v'), "flag needs an argument: 'v' in -v");
  assert.equal(problem('-xv'), "unknown shorthand flag: 'x' in -xv");
});

test('numbers are checked', () => {
  assert.equal(value('oom-score-adj', '--oom-score-adj=-998'), -998);
  assert.equal(value('oom-score-adj', '--oom-score-adj', '-998'), -998);
  assert.equal(value('conntrack-min', '--conntrack-min=0x10'), 16);
  assert.equal(value('conntrack-min', '--conntrack-min=010'), 8);
  assert.ok(Object.is(value('conntrack-min', '--conntrack-min=-0'), 0));
  assert.equal(value('kube-api-qps', '--kube-api-qps=0.5'), 0.5);
  assert.match(problem('--conntrack-min=many'), /strconv\.ParseInt: parsing "many": invalid syntax$/);
  assert.match(problem('--conntrack-min=2147483648'), /value out of range$/);
  assert.match(problem('--kube-api-qps=fast'), /strconv\.ParseFloat: parsing "fast": invalid syntax$/);
});

test('durations are checked', () => {
  assert.equal(value('config-sync-period', '--config-sync-period=1m30s'), MINUTE + 30n * SECOND);
  assert.equal(value('iptables-min-sync-period', '--iptables-min-sync-period=0'), 0n);
  assert.equal(
    problem('--config-sync-period=10'),
    'invalid argument "10" for "--config-sync-period" flag: time: missing unit in duration "10"',
  );
});

test('lists are split at commas and grow by repetition', () => {
  const name = 'ipvs-exclude-cidrs';
  assert.deepEqual(value(name, '--ipvs-exclude-cidrs=a,b', '--ipvs-exclude-cidrs', 'c'), ['a', 'b', 'c']);
  assert.deepEqual(value(name, '--ipvs-exclude-cidrs='), []);
  assert.deepEqual(value(name, '--ipvs-exclude-cidrs="a,b",c,'), ['a,b', 'c', '']);
  assert.match(problem('--ipvs-exclude-cidrs=a"b'), /parse error on line 1, column/);
});

test('feature gates merge by repetition', () => {
  const args = ['--feature-gates=AllBeta=true,AllAlpha=false', '--feature-gates=AllBeta=false'];
  assert.deepEqual(value('feature-gates', ...args), { AllBeta: false, AllAlpha: false });
  assert.match(problem('--feature-gates=AllBeta'), /malformed pair, expect string=bool$/);
  assert.match(
    problem('--feature-gates=AllBeta=x'),
    /invalid value of AllBeta: x, err: strconv\.ParseBool: parsing "x"/,
  );
});

test('vmodule takes patterns with levels', () => {
  const parsed = value('vmodule', '--vmodule=plan*=4,', '--vmodule=sync=2');
  assert.deepEqual(parsed, [
    { filePattern: 'plan*', verbosity: 4 },
    { filePattern: 'sync', verbosity: 2 },
  ]);
  assert.match(problem('--vmodule=plan'), /"plan" does not have the pattern=N format$/);
  assert.match(problem('--vmodule=plan=x'), /parsing verbosity in "plan=x"/);
});

test('quantities are checked', () => {
  for (const text of ['0', '64Ki', '1.5M', '1e3', '500m', '.5Gi']) {
    assert.equal(value('log-text-info-buffer-size', `--log-text-info-buffer-size=${text}`), text);
  }
  for (const text of ['', 'Ki', '1KB', 'x'])
    assert.match(problem(`--log-text-info-buffer-size=${text}`), /not a quantity/);
});

test('addresses are checked while parsing', () => {
  assert.equal(value('bind-address', '--bind-address=010.000.000.001'), '010.000.000.001');
  assert.equal(value('healthz-bind-address', '--healthz-bind-address=[::]:1'), '[::]:1');
  assert.equal(value('healthz-bind-address', '--healthz-bind-address=::'), '::');
  const cause = (text: string, flag = 'healthz-bind-address') => problem(`--${flag}=${text}`).split(' flag: ')[1];
  assert.equal(cause('x', 'bind-address'), '"x" is not a valid IP address');
  assert.equal(cause('[::]', 'bind-address'), '"[::]" is not a valid IP address');
  assert.equal(cause('x'), '"x" is not in a valid format (ip or ip:port): address x: missing port in address');
  assert.equal(cause('x:1'), '"x" is not a valid IP address');
  assert.equal(cause('10.0.0.1:http'), '"http" is not a valid number');
  assert.equal(cause('10.0.0.1:65536'), '"65536" is not a valid number');
  assert.match(cause('1:2:3')!, /too many colons in address$/);
  assert.match(cause('[::1')!, /missing '\]' in address$/);
  assert.match(cause('[::1]')!, /missing port in address$/);
});

test('flags of Windows builds, and names nobody has, are unknown', () => {
  for (const name of ['windows-service', 'source-vip', 'network-name', 'enable-dsr', 'constructor']) {
    assert.equal(problem(`--${name}=x`), `unknown flag: --${name}`);
  }
  assert.equal(problem('--=x'), 'bad flag syntax: --=x');
  assert.equal(problem('---v'), 'bad flag syntax: ---v');
});

test('what follows two dashes is no flag', () => {
  const line = parseCommandLine(['a', '--cleanup', '--', '--version', '-']);
  assert.ok('values' in line);
  assert.deepEqual(line.positional, ['a', '--version', '-']);
  assert.equal(line.values.cleanup, true);
});
