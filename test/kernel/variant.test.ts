// Which iptables a host uses: decided from data, and from two real rule sets in a network of this file's own.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { afterEach, test } from 'node:test';
import { legacyTables } from '../../src/kernel/host.ts';
import { chooseVariant, probeVariants } from '../../src/kernel/variant.ts';
import { continueInSandbox } from '../../src/lab/sandbox.ts';

continueInSandbox(import.meta.url);

const EMPTY = { hints: [], rules: 0 };
const run = (...argv: string[]): string => execFileSync(argv[0]!, argv.slice(1), { encoding: 'utf8' });

afterEach(() => {
  run('nft', 'flush', 'ruleset');
  for (const family of ['IPv4', 'IPv6'] as const) {
    const program = family === 'IPv4' ? 'iptables-legacy' : 'ip6tables-legacy';
    for (const table of legacyTables(family)) {
      run(program, '-t', table, '-F');
      run(program, '-t', table, '-X');
    }
  }
});

test('kubelet decides before rules do', () => {
  const hinted = { hints: ['KUBE-IPTABLES-HINT'], rules: 0 };
  assert.deepEqual(chooseVariant({ nft: { hints: [], rules: 900 }, legacy: hinted, plain: 'nft' }), {
    variant: 'legacy',
    reason: "iptables-legacy: kubelet's chain KUBE-IPTABLES-HINT is there",
  });
  assert.deepEqual(chooseVariant({ nft: hinted, legacy: hinted, plain: 'legacy' }), {
    variant: 'nft',
    reason:
      "iptables-nft: kubelet's chain KUBE-IPTABLES-HINT is there (iptables-legacy holds such a chain too, left by an earlier set-up)",
  });
});

test('without a word of kubelet, rules decide, then what iptables is on this host', () => {
  assert.deepEqual(chooseVariant({ nft: { hints: [], rules: 2 }, legacy: { hints: [], rules: 7 }, plain: 'nft' }), {
    variant: 'legacy',
    reason: 'iptables-legacy: 7 rules are there, 2 in iptables-nft',
  });
  assert.equal(chooseVariant({ nft: EMPTY, legacy: EMPTY, plain: 'legacy' }).variant, 'legacy');
  assert.equal(chooseVariant({ nft: EMPTY, legacy: EMPTY, plain: undefined }).variant, 'nft');
});

test('tables that cannot be read are not passed over in silence', () => {
  const unreadable = { ...EMPTY, unreadable: 'Permission denied' };
  assert.deepEqual(chooseVariant({ nft: EMPTY, legacy: unreadable, plain: 'nft' }), {
    variant: 'legacy',
    reason:
      'iptables-legacy: its tables are there, though they cannot be read (Permission denied); iptables-nft is empty',
  });
  assert.equal(chooseVariant({ nft: { hints: [], rules: 3 }, legacy: unreadable, plain: 'nft' }).variant, 'nft');
});

test('a variant that is not installed is no choice', () => {
  assert.equal(chooseVariant({ nft: EMPTY, legacy: undefined, plain: 'nft' }).variant, 'nft');
  assert.equal(chooseVariant({ nft: undefined, legacy: EMPTY, plain: 'legacy' }).variant, 'legacy');
  assert.equal(chooseVariant({ nft: undefined, legacy: undefined, plain: 'legacy' }).variant, 'auto');
});

test('a probe of an empty host finds nothing and makes no table', async () => {
  assert.deepEqual(await probeVariants(), { nft: EMPTY, legacy: EMPTY, plain: 'nft' });
  assert.equal(run('nft', 'list', 'tables'), '');
  assert.deepEqual(legacyTables('IPv4'), []);
  assert.deepEqual(legacyTables('IPv6'), []);
});

for (const variant of ['nft', 'legacy'] as const) {
  for (const chain of ['KUBE-IPTABLES-HINT', 'KUBE-KUBELET-CANARY']) {
    test(`kubelet's ${chain} in iptables-${variant} is found, also in IPv6 alone`, async () => {
      run(`ip6tables-${variant}`, '-t', 'mangle', '-N', chain);
      const probes = await probeVariants();
      assert.deepEqual(probes[variant]?.hints, [chain]);
      assert.equal(chooseVariant(probes).variant, variant);
    });
  }
}

test("without NET_RAW, which iptables-legacy needs, kubelet's chain in it still decides", () => {
  run('iptables-legacy', '-t', 'mangle', '-N', 'KUBE-IPTABLES-HINT');
  const module = new URL('../../src/kernel/variant.ts', import.meta.url).href;
  const program = `const { chooseVariant, probeVariants } = await import(${JSON.stringify(module)});
    console.log(chooseVariant(await probeVariants()).variant);`;
  const rights = ['--bounding-set=-all,+net_admin', '--inh-caps=-all,+net_admin'];
  assert.equal(run('setpriv', ...rights, process.execPath, '--input-type=module', '-e', program), 'legacy\n');
});

test('rules of both families are counted where they are', async () => {
  run('iptables-legacy', '-A', 'INPUT', '-s', '192.0.2.1', '-j', 'DROP');
  run('ip6tables-legacy', '-A', 'INPUT', '-s', '2001:db8::1', '-j', 'DROP');
  run('iptables-nft', '-A', 'INPUT', '-s', '192.0.2.2', '-j', 'DROP');
  const probes = await probeVariants();
  assert.equal(probes.legacy?.rules, 2);
  assert.equal(probes.nft?.rules, 1);
});
