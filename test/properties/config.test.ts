import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { parse } from 'yaml';
import { decodeDocument } from '../../src/config/decode.ts';
import { settingsOf, withPlatformDefaults } from '../../src/config/defaults.ts';
import { FLAG_NAMES } from '../../src/config/flag-table.ts';
import { complete } from '../../src/config/options.ts';
import { configurationYaml } from '../../src/config/write.ts';
import { printYaml } from '../../src/config/yaml-print.ts';
import { MILLISECOND } from '../../src/lib/duration.ts';

const HEAD = { apiVersion: 'kubeproxy.config.k8s.io/v1alpha1', kind: 'KubeProxyConfiguration' };

const duration = fc.integer({ min: 1, max: 10_000_000 }).map((ms) => BigInt(ms) * MILLISECOND);
const text = fc.oneof(
  fc.string(),
  fc.constantFrom('', '::', '[::]:1', 'yes', '1e3', '010', '~', '- x', '2026-01-01', 'e0', '.'),
);

const partial = <T>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record(fields, { requiredKeys: [] });

/** Documents in which the sections of modes that do not run are empty, since those are not written. */
const document = partial({
  bindAddress: fc.constantFrom('0.0.0.0', '::', '10.0.0.1'),
  hostnameOverride: text,
  clusterCIDR: text,
  mode: fc.constantFrom('', 'iptables'),
  featureGates: fc.dictionary(fc.stringMatching(/^[A-Z][a-z]{1,9}$/), fc.boolean(), { noNullPrototype: true }),
  nodePortAddresses: fc.array(text),
  oomScoreAdj: fc.integer({ min: -1000, max: 1000 }),
  iptables: partial({
    masqueradeBit: fc.integer({ min: 0, max: 31 }),
    masqueradeAll: fc.boolean(),
    localhostNodePorts: fc.boolean(),
    syncPeriod: duration,
    minSyncPeriod: duration,
  }),
  conntrack: partial({
    maxPerCore: fc.nat(1_000_000),
    tcpEstablishedTimeout: duration,
    udpTimeout: duration,
  }),
  clientConnection: partial({ qps: fc.float({ min: 1, max: 1e6, noNaN: true }), burst: fc.nat(1000) }),
  ipvs: partial({ excludeCIDRs: fc.array(text), scheduler: text }),
  portolan: partial({ serviceMetrics: fc.boolean(), consoleTokenFile: text }),
});

test('a written configuration is read back as it was', () => {
  fc.assert(
    fc.property(document, (input) => {
      const settings = withPlatformDefaults(settingsOf(input));
      const result = decodeDocument(configurationYaml(settings));
      assert.ok('document' in result, 'problem' in result ? result.problem : '');
      assert.equal(result.strictProblem, undefined);
      assert.deepEqual(settingsOf(result.document), settings);
    }),
  );
});

test('any text survives being printed as YAML', () => {
  fc.assert(
    fc.property(fc.oneof(text, fc.string({ unit: 'grapheme' })), (value) => {
      assert.deepEqual(parse(printYaml({ key: value })), { key: value });
    }),
  );
});

test('no command line and no file makes completion throw', () => {
  const name = fc.constantFrom(...FLAG_NAMES, 'nonsense', 'help');
  const argument = fc.oneof(
    fc.tuple(name, text).map(([n, v]) => `--${n}=${v}`),
    name.map((n) => `--${n}`),
    text,
  );
  const file = fc.oneof(
    text,
    fc.object().map((value) => JSON.stringify({ ...HEAD, ...value })),
    fc
      .record(
        Object.fromEntries(
          ['mode', 'conntrack', 'logging', 'featureGates', 'portolan'].map((key) => [key, fc.anything()]),
        ),
      )
      .map((value) => {
        return JSON.stringify({ ...HEAD, ...value }, (_, item) => (typeof item === 'bigint' ? String(item) : item));
      }),
  );
  fc.assert(
    fc.property(fc.array(argument), file, fc.boolean(), (args, content, hasFile) => {
      const invocation = complete(hasFile ? ['--config=/x', ...args] : args, () => content);
      assert.ok(invocation.action.length > 0);
    }),
  );
});
