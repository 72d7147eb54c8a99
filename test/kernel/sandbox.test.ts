// A sandbox holds everything that a network needs, for root and for others, and nothing leaves it.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readlinkSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isInSandbox, spawnInSandbox } from '../../src/lab/sandbox.ts';
import { asOrdinaryUser, asOurselves } from '../support/network-as-user.ts';
import { lastingProcesses, MARK, processesWith } from '../support/network-traces.ts';

const SANDBOX = fileURLToPath(new URL('../../src/lab/sandbox.ts', import.meta.url));

const USERS = [
  { user: 'the user of the tests', command: asOurselves(SANDBOX) },
  { user: 'an ordinary user', command: asOrdinaryUser(SANDBOX) },
] as const;

const TOOLS = [
  'ip netns add inner && ip netns exec inner ip link set lo up',
  'iptables-nft -t nat -A POSTROUTING -j MASQUERADE && iptables-nft-save | grep -q MASQUERADE',
  'iptables-legacy -t nat -A POSTROUTING -j MASQUERADE && iptables-legacy-save | grep -q MASQUERADE',
  'ip6tables-nft -t nat -A POSTROUTING -j MASQUERADE && ip6tables-legacy -t nat -A POSTROUTING -j MASQUERADE',
  'nft add table inet portolan && nft list tables | grep -q portolan',
  'conntrack -L',
  'sysctl -qw net.ipv4.ip_forward=1',
  'test "$(id -u)" = 0',
];

for (const { user, command } of USERS) {
  describe(`a sandbox of ${user}`, { skip: command ? false : 'an ordinary user may not read this folder' }, () => {
    const [program, ...args] = command ?? ['false'];
    const run = (script: string) => spawnSync(program, [...args, '--', 'sh', '-c', script], { encoding: 'utf8' });

    test('namespaces, both kinds of iptables, nft and conntrack work in it', () => {
      const { status, stderr } = run(TOOLS.map((tool) => `{ ${tool}; } || exit 1`).join('\n'));
      assert.equal(status, 0, stderr);
      assert.equal(existsSync('/run/netns/inner'), false);
    });

    test("the machine's own settings cannot be changed from it", () => {
      assert.notEqual(run('echo 1 > /sys/module/nf_conntrack/parameters/hashsize').status, 0);
    });

    test('it has a network of its own, with nothing but loopback up', () => {
      const { stdout } = run('readlink /proc/self/ns/net; ip -br link show up');
      const [namespace, ...links] = stdout.trim().split('\n');
      assert.notEqual(namespace, readlinkSync('/proc/self/ns/net'));
      assert.match(links.join('\n'), /^lo [^\n]*$/);
    });

    test('it ends with the status of its command', () => {
      assert.equal(run('exit 7').status, 7);
    });

    for (const [end, script] of [
      ['its command ends', 'sleep 1000 & setsid sleep 1000 & echo up; read line'],
      ['we are killed', 'sleep 1000 & setsid sleep 1000 & echo up; sleep 1000'],
    ] as const) {
      test(`all that it started is gone when ${end}`, async () => {
        const mark = randomUUID();
        const child = spawn(program, [...args, '--', 'sh', '-c', script], {
          stdio: ['pipe', 'pipe', 'inherit'],
          env: { ...process.env, [MARK]: mark },
        });
        await once(child.stdout, 'data');
        assert.ok(processesWith(mark).length >= 4);
        if (end === 'we are killed') child.kill('SIGKILL');
        else child.stdin.end('\n');
        await once(child, 'exit');
        assert.deepEqual(await lastingProcesses(mark), []);
      });
    }
  });
}

test('a program knows whether it is in a sandbox', async () => {
  assert.equal(isInSandbox(), false);
  const script = `import { isInSandbox } from ${JSON.stringify(SANDBOX)}; process.exit(isInSandbox() ? 0 : 1);`;
  const child = spawnInSandbox([process.execPath, '--input-type=module', '-e', script], { stdio: 'inherit' });
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});
