import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Iptables, lastChainFirst, parseVersion } from './iptables.ts';
import type { ProcessResult, RunProcess } from './process.ts';

describe('the version of iptables', () => {
  for (const [text, version, backend, hasRandomFully] of [
    ['iptables v1.8.9 (nf_tables)\n', '1.8.9', 'nf_tables', true],
    ['ip6tables v1.8.9 (legacy)\n', '1.8.9', 'legacy', true],
    ['iptables v1.6.1\n', '1.6.1', 'legacy', false],
    ['iptables v1.10\n', '1.10', 'legacy', true],
    ['command not found', '', 'legacy', false],
  ] as const) {
    test(`of ${JSON.stringify(text)} is ${version || 'unknown'}`, () =>
      assert.deepEqual(parseVersion(text), { version, backend, hasRandomFully }));
  }
});

describe('a call of iptables', () => {
  test('waits for the lock as far as the version can', async () => {
    for (const [version, wait] of [
      ['1.4.19', []],
      ['1.4.20', ['-w']],
      ['1.4.22', ['-w', '5']],
    ] as const) {
      const { iptables, calls } = recording(version);
      await iptables.hasChain('nat', 'X');
      assert.deepEqual(calls.at(-1), ['iptables', ...wait, '-S', 'X', '-t', 'nat']);
    }
  });

  test('restores over what is there, with counters, and with a wait from 1.6.2 on', async () => {
    for (const [version, wait] of [
      ['1.6.1', []],
      ['1.6.2', ['-w', '5']],
    ] as const) {
      const { iptables, calls } = recording(version);
      await iptables.restore(['*nat', 'COMMIT']);
      assert.deepEqual(calls.at(-1), ['iptables-restore', ...wait, '--noflush', '--counters']);
    }
  });

  test('is not made for nothing', async () => {
    const { iptables, calls } = recording('1.8.9');
    await iptables.restore([]);
    assert.deepEqual(calls, []);
  });

  test('comes after the one before has ended, also where that failed', async () => {
    let running = 0;
    const run: RunProcess = async (_program, args) => {
      assert.equal(++running, 1, 'one at a time');
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      if (args.includes('BAD')) throw new Error('no');
      return answer('iptables v1.8.9 (nf_tables)');
    };
    const iptables = new Iptables('IPv4', 'auto', run);
    const results = await Promise.allSettled(['A', 'BAD', 'C'].map((chain) => iptables.hasChain('nat', chain)));
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
  });

  test('that could not get the lock leaves open whether the chain exists', async () => {
    const { iptables } = recording('1.8.9', 4);
    assert.equal(await iptables.hasChain('mangle', 'KUBE-PROXY-CANARY'), 'unknown');
  });

  test('uses the program of its family and variant', () => {
    const names = (['auto', 'nft', 'legacy'] as const).flatMap((variant) => [
      new Iptables('IPv4', variant).name,
      new Iptables('IPv6', variant).name,
    ]);
    assert.deepEqual(names, [
      'iptables',
      'ip6tables',
      'iptables-nft',
      'ip6tables-nft',
      'iptables-legacy',
      'ip6tables-legacy',
    ]);
  });
});

function answer(stdout: string, status = 0): ProcessResult {
  return { status, stdout, stderr: '' };
}

function recording(version: string, status = 0): { readonly iptables: Iptables; readonly calls: string[][] } {
  const calls: string[][] = [];
  const run: RunProcess = async (program, args) => {
    if (args[0] === '--version') return answer(`iptables v${version}`);
    calls.push([program, ...args]);
    return answer('', status);
  };
  return { iptables: new Iptables('IPv4', 'auto', run), calls };
}

test('chains are declared last name first within a table, and nothing else changes its place', () => {
  const lines = [
    '*filter',
    ':B - [0:0]',
    'COMMIT',
    '*nat',
    ':A - [0:0]',
    ':C - [0:0]',
    ':B - [0:0]',
    '-A B',
    '-A A',
    'COMMIT',
  ];
  const [a, b, c] = ['A', 'B', 'C'].map((name) => `:${name} - [0:0]`);
  assert.deepEqual(lastChainFirst(lines), ['*filter', b, 'COMMIT', '*nat', c, b, a, '-A B', '-A A', 'COMMIT']);
});
