// iptables-restore --noflush in memory: chains and rules as text, and a refusal of everything the kernel refuses too.
import assert from 'node:assert/strict';

type Chains = Map<string, string[]>;

const BUILT_IN: Readonly<Record<string, readonly string[]>> = {
  mangle: ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'],
  filter: ['INPUT', 'FORWARD', 'OUTPUT'],
  nat: ['PREROUTING', 'INPUT', 'OUTPUT', 'POSTROUTING'],
};
const KERNEL_TARGETS = ['ACCEPT', 'DROP', 'REJECT', 'RETURN', 'MARK', 'MASQUERADE', 'DNAT'];

export class IptablesMemory {
  #tables = new Map<string, Chains>(
    Object.entries(BUILT_IN).map(([table, chains]) => [table, new Map(chains.map((chain) => [chain, []]))]),
  );

  /** Each table wholly or not at all. */
  restore(lines: readonly string[]): void {
    let table = '';
    let chains: Chains = new Map();
    for (const line of lines) {
      if (line.startsWith('*')) {
        table = line.slice(1);
        const committed = this.#tables.get(table);
        assert.ok(committed, `no table ${table}`);
        chains = new Map([...committed].map(([chain, rules]) => [chain, [...rules]]));
      } else if (line === 'COMMIT') {
        this.#tables.set(table, chains);
        table = '';
      } else {
        assert.notEqual(table, '', `outside of a table: ${line}`);
        step(chains, line);
      }
    }
    assert.equal(table, '', 'no COMMIT at the end');
  }

  rules(table: string, chain: string): readonly string[] {
    return this.#tables.get(table)?.get(chain) ?? [];
  }

  /** In the shape of iptables-save. */
  save(): string {
    return [...this.#tables]
      .flatMap(([table, chains]) => [
        `*${table}`,
        ...[...chains.keys()].map((chain) => `:${chain} ${BUILT_IN[table]?.includes(chain) ? 'ACCEPT' : '-'} [0:0]`),
        ...[...chains].flatMap(([chain, rules]) => rules.map((rule) => `-A ${chain} ${rule}`)),
        'COMMIT',
      ])
      .join('\n');
  }
}

function step(chains: Chains, line: string): void {
  const [operation = '', chain = ''] = line.startsWith(':') ? [':', line.slice(1).split(' ')[0]] : line.split(' ');
  if (operation === ':') {
    chains.set(chain, []);
    return;
  }
  const rules = chains.get(chain);
  assert.ok(rules, `no chain for: ${line}`);
  const rule = line.slice(operation.length + chain.length + 2);
  switch (operation) {
    case '-A':
    case '-I':
      assertTarget(chains, rule);
      if (operation === '-A') rules.push(rule);
      else rules.unshift(rule);
      break;
    case '-D':
      assert.ok(rules.includes(rule), `no rule for: ${line}`);
      rules.splice(rules.indexOf(rule), 1);
      break;
    case '-X':
      assert.equal(rules.length, 0, `not empty: ${line}`);
      for (const [from, others] of chains)
        assert.ok(!others.some((other) => targetOf(other) === chain), `${from} still leads to it: ${line}`);
      chains.delete(chain);
      break;
    default:
      assert.fail(`no operation: ${line}`);
  }
}

function assertTarget(chains: Chains, rule: string): void {
  const target = targetOf(rule);
  if (target !== undefined && !KERNEL_TARGETS.includes(target)) assert.ok(chains.has(target), `no target for: ${rule}`);
}

function targetOf(rule: string): string | undefined {
  return / ?-j (\S+)/.exec(rule)?.[1];
}
