// The driver of the iptables programs against a real kernel, in both variants.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { KernelError } from '../../src/kernel/error.ts';
import { Iptables, type IptablesVariant } from '../../src/kernel/iptables.ts';
import { Network } from '../../src/lab/network/network.ts';
import { FAMILIES } from '../../src/lib/ip.ts';
import { read } from '../../src/modes/iptables/apply.ts';
import { diff } from '../../src/modes/iptables/diff.ts';
import { JUMPS } from '../../src/modes/iptables/jumps.ts';
import { plan } from '../../src/modes/iptables/plan.ts';
import { defaultFacts, runIn } from '../support/iptables-node.ts';
import { modelOf } from '../support/worked.ts';

for (const variant of ['nft', 'legacy'] as const satisfies readonly IptablesVariant[]) {
  for (const family of FAMILIES) {
    describe(`iptables-${variant}, ${family}`, () => {
      let network: Network;
      let iptables: Iptables;
      before(async () => {
        network = await Network.open({ hosts: [{ name: 'n1' }], links: [] });
        iptables = new Iptables(family, variant, runIn(network, 'n1'));
      });
      after(() => network.close());

      test('says which variant it is', async () => {
        const { backend, version, hasRandomFully } = await iptables.version();
        assert.equal(backend, variant === 'nft' ? 'nf_tables' : 'legacy');
        assert.match(version, /^\d+\.\d+/);
        assert.equal(hasRandomFully, true);
        assert.equal(await iptables.unusableBecause(), undefined);
      });

      test('finds a chain that is there', async () => {
        assert.equal(await iptables.hasChain('mangle', 'KUBE-PROXY-CANARY'), 'no');
        await iptables.restore(['*mangle', ':KUBE-PROXY-CANARY - [0:0]', 'COMMIT']);
        assert.equal(await iptables.hasChain('mangle', 'KUBE-PROXY-CANARY'), 'yes');
      });

      test('shows the line that was refused, and those around it', async () => {
        const lines = [
          '*filter',
          ':KUBE-A - [0:0]',
          '-A KUBE-A -j ACCEPT',
          '-A KUBE-A -j NO-SUCH-TARGET',
          '-A KUBE-A -j DROP',
          'COMMIT',
        ];
        await assert.rejects(iptables.restore(lines), (error) => {
          assert.ok(error instanceof KernelError);
          assert.equal(error.code, 'TOOL_FAILED');
          assert.match(error.message, /4: -A KUBE-A -j NO-SUCH-TARGET/);
          assert.match(error.message, /3: -A KUBE-A -j ACCEPT/);
          return true;
        });
        assert.equal(await iptables.hasChain('filter', 'KUBE-A'), 'no', 'nothing of the table was written');
      });

      test('adds the jumps that are missing in front, and leaves those that stand where they are', async () => {
        const wanted = plan(modelOf([], family), defaultFacts(family));
        await iptables.restore(['*filter', '-A INPUT -j ACCEPT', 'COMMIT']);
        await iptables.restore(diff(await read(iptables), wanted).lines);
        const held = await read(iptables);
        assert.equal(held.jumps.size, JUMPS.length, 'every jump is recognised as iptables-save prints it');
        const before = inputTargets(await iptables.save('filter'));
        assert.deepEqual(before, [
          'KUBE-FIREWALL',
          'KUBE-PROXY-FIREWALL',
          'KUBE-NODEPORTS',
          'KUBE-EXTERNAL-SERVICES',
          'ACCEPT',
        ]);

        await iptables.restore([
          '*filter',
          '-I INPUT -j DROP',
          '-D INPUT -m comment --comment "kubernetes health check service ports" -j KUBE-NODEPORTS',
          'COMMIT',
        ]);
        await iptables.restore(diff(await read(iptables), wanted).lines);
        const after = inputTargets(await iptables.save('filter'));
        assert.deepEqual(after, [
          'KUBE-NODEPORTS',
          'DROP',
          'KUBE-FIREWALL',
          'KUBE-PROXY-FIREWALL',
          'KUBE-EXTERNAL-SERVICES',
          'ACCEPT',
        ]);
      });
    });
  }
}

test('who holds the lock of legacy tables is named', async (t) => {
  const network = await Network.open({ hosts: [{ name: 'n1' }], links: [] });
  t.after(() => network.close());
  const holder = await network.spawnIn('n1', ['flock', '/run/xtables.lock', 'sleep', '60']);
  const script = fileURLToPath(new URL('../support/restore-under-lock.ts', import.meta.url));
  const { stdout, stderr } = await network.exec('n1', [process.execPath, script]);
  await holder.kill('SIGKILL');
  assert.match(
    stdout,
    /^LOCK_TIMEOUT iptables-legacy restore: the xtables lock was not free within 5 s; flock \(pid \d+\) holds it$/m,
    stderr,
  );
});

function inputTargets(save: string): readonly string[] {
  return save.match(/(?<=^-A INPUT .*)(?<=-j )\S+/gm) ?? [];
}
