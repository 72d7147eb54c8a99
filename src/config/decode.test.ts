import assert from 'node:assert/strict';
import test from 'node:test';
import { HOUR, SECOND } from '../lib/duration.ts';
import { decodeDocument } from './decode.ts';

const HEAD = 'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n';

function decoded(text: string) {
  const result = decodeDocument(text);
  assert.ok('document' in result, 'problem' in result ? result.problem : '');
  return result;
}

function problem(text: string): string {
  const result = decodeDocument(text);
  assert.ok('problem' in result, 'no problem found');
  return result.problem;
}

test('YAML and JSON are read alike', () => {
  const yaml = decoded(`${HEAD}conntrack:\n  min: 5\n  tcpEstablishedTimeout: 2h\nfeatureGates:\n  AllBeta: true\n`);
  const json = decoded(
    '{\n\t"apiVersion": "kubeproxy.config.k8s.io/v1alpha1",\n\t"kind": "KubeProxyConfiguration",\n\t"conntrack": {"min": 5, "tcpEstablishedTimeout": "2h"},\n\t"featureGates": {"AllBeta": true}\n}\n',
  );
  assert.deepEqual(json, yaml);
  assert.deepEqual(yaml.document.conntrack, { min: 5, tcpEstablishedTimeout: 2n * HOUR });
  assert.equal(yaml.strictProblem, undefined);
});

test('null is absent', () => {
  const { document } = decoded(`${HEAD}conntrack: null\niptables: {masqueradeBit: null}\nnodePortAddresses: ~\n`);
  assert.equal(document.conntrack, undefined);
  assert.deepEqual(document.iptables, {});
});

test('the flush frequency is text or nanoseconds', () => {
  assert.equal(decoded(`${HEAD}logging: {flushFrequency: 0}\n`).document.logging?.flushFrequency, 0n);
  assert.equal(decoded(`${HEAD}logging: {flushFrequency: 5000000000}\n`).document.logging?.flushFrequency, 5n * SECOND);
  assert.equal(decoded(`${HEAD}logging: {flushFrequency: 5s}\n`).document.logging?.flushFrequency, 5n * SECOND);
  assert.match(problem(`${HEAD}logging: {flushFrequency: often}\n`), /logging\.flushFrequency: time: invalid duration/);
});

test('field names are case-sensitive', () => {
  const { document, strictProblem } = decoded(`${HEAD}Mode: ipvs\n`);
  assert.equal(document.mode, undefined);
  assert.equal(strictProblem, 'strict decoding error: unknown field "Mode"');
});

test('repeated keys are told wherever they are, and the last wins', () => {
  const { document, strictProblem } = decoded(`${HEAD}iptables:\n  masqueradeBit: 1\n  masqueradeBit: 2\n`);
  assert.equal(document.iptables?.masqueradeBit, 2);
  assert.equal(strictProblem, 'strict decoding error: line 5: key "masqueradeBit" already set in map');
});

test('values of the wrong type are refused with their field', () => {
  const cases = [
    ['oomScoreAdj: low', 'json: cannot unmarshal "low" into field oomScoreAdj: not a 32-bit integer'],
    ['oomScoreAdj: 1.5', 'json: cannot unmarshal 1.5 into field oomScoreAdj: not a 32-bit integer'],
    ['oomScoreAdj: 4294967296', 'json: cannot unmarshal 4294967296 into field oomScoreAdj: not a 32-bit integer'],
    ['mode: 1', 'json: cannot unmarshal 1 into field mode: not a string'],
    ['mode: yes', 'json: cannot unmarshal true into field mode: not a string'],
    ['enableProfiling: "true"', 'json: cannot unmarshal "true" into field enableProfiling: not a boolean'],
    ['conntrack: []', 'json: cannot unmarshal [] into field conntrack: not an object'],
    ['nodePortAddresses: primary', 'json: cannot unmarshal "primary" into field nodePortAddresses: not a list'],
    ['nodePortAddresses: [1]', 'json: cannot unmarshal 1 into field nodePortAddresses[0]: not a string'],
    ['featureGates: {A: 1}', 'json: cannot unmarshal 1 into field featureGates.A: not a boolean'],
    [
      'logging: {verbosity: -1}',
      'json: cannot unmarshal -1 into field logging.verbosity: not an unsigned 32-bit integer',
    ],
    ['configSyncPeriod: 15', 'json: cannot unmarshal 15 into field configSyncPeriod: not a string with a duration'],
    ['configSyncPeriod: 15x', 'json: field configSyncPeriod: time: unknown unit "x" in duration "15x"'],
    [
      'logging: {options: {text: {infoBufferSize: big}}}',
      'json: cannot unmarshal "big" into field logging.options.text.infoBufferSize: not a quantity',
    ],
  ] as const;
  for (const [line, text] of cases) assert.equal(problem(`${HEAD}${line}\n`), text);
});

test('a wrong type is fatal even if there are unknown fields too', () => {
  assert.match(problem(`${HEAD}unknown: 1\nmode: 1\n`), /^json: cannot unmarshal 1 into field mode/);
});

test('on and off are booleans; addresses and dates stay text', () => {
  assert.equal(decoded(`${HEAD}enableProfiling: on\n`).document.enableProfiling, true);
  assert.equal(decoded(`${HEAD}healthzBindAddress: 0.0.0.0:10256\n`).document.healthzBindAddress, '0.0.0.0:10256');
  assert.equal(decoded(`${HEAD}hostnameOverride: 12:30:45\n`).document.hostnameOverride, '12:30:45');
  assert.equal(decoded(`${HEAD}hostnameOverride: 2026-01-02\n`).document.hostnameOverride, '2026-01-02');
});

test('kind and version must be ours', () => {
  assert.match(problem(''), /Object 'Kind' is missing/);
  assert.match(problem('apiVersion: kubeproxy.config.k8s.io/v1alpha1\n'), /Object 'Kind' is missing in '/);
  assert.match(problem('kind: KubeProxyConfiguration\n'), /Object 'apiVersion' is missing/);
  assert.equal(
    problem('apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: X\n'),
    'no kind "X" is registered for version "kubeproxy.config.k8s.io/v1alpha1"',
  );
  assert.match(problem('apiVersion: v9\nkind: KubeProxyConfiguration\n'), /for version "v9"$/);
  assert.match(problem('just words'), /not a mapping of fields/);
  assert.match(problem('kind: 1\napiVersion: x\n'), /must be strings/);
});

test('only the first of several documents is read', () => {
  assert.equal(decoded(`${HEAD}mode: ipvs\n---\nmode: [broken\n`).document.mode, 'ipvs');
});

test('syntax errors name the line', () => {
  assert.equal(problem(`${HEAD}bindAddress: ::\n`), 'yaml: line 3: mapping values are not allowed in this context');
  assert.match(problem(`${HEAD}mode: "ipvs\n`), /^yaml: line \d: missing closing "quote/);
  assert.match(problem(`${HEAD}\tmode: x\n`), /^yaml: line \d: /);
  assert.match(problem(`${HEAD}mode: *nowhere\n`), /^yaml: /);
});
