import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { parse } from 'yaml';
import { MILLISECOND, SECOND } from '../lib/duration.ts';
import type { Settings } from './configuration.ts';
import { settingsOf, withPlatformDefaults } from './defaults.ts';
import { configurationYaml, documentOf } from './write.ts';
import { printYaml } from './yaml-print.ts';

const DEFAULTS = withPlatformDefaults(settingsOf({}));

function lines(change: Partial<Settings>): string[] {
  const before = configurationYaml(DEFAULTS).split('\n');
  return configurationYaml({ ...DEFAULTS, ...change })
    .split('\n')
    .filter((line) => !before.includes(line));
}

test('the defaults are written byte for byte as others write them', () => {
  const expected = readFileSync(new URL('testdata/defaults.yaml', import.meta.url), 'utf8');
  assert.equal(configurationYaml(DEFAULTS), expected);
});

test('only the running mode has its periods', () => {
  const document = documentOf({
    ...DEFAULTS,
    mode: 'ipvs',
    syncPeriod: 9n * SECOND,
    minSyncPeriod: 250n * MILLISECOND,
  });
  assert.deepEqual(parse(printYaml(document)).ipvs, {
    excludeCIDRs: null,
    minSyncPeriod: '250ms',
    scheduler: '',
    strictARP: false,
    syncPeriod: '9s',
    tcpFinTimeout: '0s',
    tcpTimeout: '0s',
    udpTimeout: '0s',
  });
  assert.equal((document.iptables as { syncPeriod: string }).syncPeriod, '0s');
  const nftables = documentOf({ ...DEFAULTS, mode: 'nftables', masqueradeAll: true });
  assert.deepEqual(nftables.nftables, {
    masqueradeBit: 14,
    masqueradeAll: true,
    syncPeriod: '30s',
    minSyncPeriod: '1s',
  });
  assert.equal((nftables.iptables as { masqueradeAll: boolean }).masqueradeAll, false);
});

test('text is quoted only where it would be read as something else', () => {
  const written = printYaml({
    address: '[::]:10256',
    any: '::',
    base60: '12:30',
    bool: 'true',
    date: '2026-01-02',
    empty: '',
    host: '127.0.0.1:10249',
    loop: '::1',
    network: 'fd00::/8,10.0.0.0/8',
    none: 'null',
    number: '1.35',
    quote: "it's: so",
    tab: 'a\tb',
    word: 'node-1',
    zero: '0',
  });
  assert.deepEqual(written.split('\n'), [
    "address: '[::]:10256'",
    "any: '::'",
    'base60: "12:30"',
    'bool: "true"',
    'date: "2026-01-02"',
    'empty: ""',
    'host: 127.0.0.1:10249',
    'loop: ::1',
    'network: fd00::/8,10.0.0.0/8',
    'none: "null"',
    'number: "1.35"',
    "quote: 'it''s: so'",
    'tab: "a\\tb"',
    'word: node-1',
    'zero: "0"',
    '',
  ]);
});

test('lists stand under their key, and what is empty may be left out', () => {
  const changed = lines({
    nodePortAddresses: ['primary'],
    featureGates: { AllBeta: true },
    windowsRunAsService: true,
    clientConnection: { ...DEFAULTS.clientConnection, qps: Math.fround(0.1) },
    logging: { ...DEFAULTS.logging, vmodule: [{ filePattern: 'plan*', verbosity: 4 }] },
    portolan: { ...DEFAULTS.portolan, serviceMetrics: false },
  });
  assert.deepEqual(changed, [
    '  qps: 0.1',
    'featureGates:',
    '  AllBeta: true',
    '  vmodule:',
    '  - filePattern: plan*',
    '    verbosity: 4',
    'nodePortAddresses:',
    '- primary',
    'portolan:',
    '  consoleBindAddress: ""',
    '  consoleTokenFile: ""',
    '  selfCheckPeriod: 10m0s',
    '  serviceMetrics: false',
    '  udpIdleTimeout: 250ms',
    'windowsRunAsService: true',
  ]);
  assert.equal(printYaml({ list: [], map: {} }), 'list: []\nmap: {}\n');
});
