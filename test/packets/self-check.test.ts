// The agent checks its own rules now and then: quiet where they are right, loud where somebody stands in front of them, and it mends its own.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { USERSPACE_GATE } from '../../src/config/configuration.ts';
import type { KubeObject } from '../../src/lab/apiserver/object.ts';
import { until } from '../support/agent.ts';
import { AgentBed } from '../support/agent-bed.ts';
import { goldenCases } from '../support/golden.ts';

for (const mode of ['iptables', 'nftables', 'userspace'] as const) {
  describe(`self-check in ${mode} mode`, () => {
    let bed: AgentBed;
    before(async () => {
      bed = await AgentBed.open();
      bed.server.seed(
        goldenCases().find(({ name }) => name === 'clusterip-2-endpoints')!.steps[0]!.apply as unknown as KubeObject[],
      );
      const featureGates = mode === 'userspace' ? { [USERSPACE_GATE]: true } : {};
      await bed.startSynced({ config: { mode, featureGates, portolan: { selfCheckPeriod: '1s' } } });
    });
    after(() => bed.close());

    const inNode = async (...argv: string[]): Promise<void> => {
      const { status, stderr } = await bed.network.exec('n1', argv);
      assert.equal(status, 0, stderr);
    };

    test('healthy rules are checked case by case, and nothing is said', async () => {
      await bed.agent.said(/"Checked the rules" ipFamily="IPv4" cases=[1-9]\d* mismatches=0/);
      assert.doesNotMatch(bed.agent.log, /do not do what the objects mean/);
    });

    test('a rule of somebody else in front is named, in the log, as an event and as a metric', async () => {
      const from = bed.agent.log.length;
      const foreign = ['-t', 'raw', 'PREROUTING', '-d', '10.96.10.1', '-j', 'DROP'];
      const rule = (action: string): string[] => ['iptables', ...foreign.slice(0, 2), action, ...foreign.slice(2)];
      await inNode(...rule('-I'));
      await bed.agent.said(/"Rules do not do what the objects mean".*demo\/web.*10\.96\.10\.1.*DROP/, from);
      await until(
        () => bed.server.list('events').some(({ reason }) => reason === 'RulesMismatch'),
        5000,
        () => `no event came: ${JSON.stringify(bed.server.list('events').map(({ reason }) => reason))}`,
      );
      const page = await bed.network.probe({ from: 'n1', http: '127.0.0.1:10249/metrics' });
      assert.match(String('body' in page && page.body), /portolan_self_check_mismatches\{ip_family="IPv4"\} [1-9]/);
      await inNode(...rule('-D'));
      await bed.agent.said(/"Checked the rules" ipFamily="IPv4" cases=\d+ mismatches=0/, bed.agent.log.length);
    });
  });
}

test('a rule of ours that somebody took away comes back, although no chain is gone', async () => {
  const bed = await AgentBed.open();
  try {
    bed.server.seed(
      goldenCases().find(({ name }) => name === 'clusterip-2-endpoints')!.steps[0]!.apply as unknown as KubeObject[],
    );
    await bed.startSynced({ config: { mode: 'iptables', portolan: { selfCheckPeriod: '1s' } } });
    const held = async (): Promise<string> =>
      (await bed.network.exec('n1', ['iptables', '-t', 'nat', '-S', 'KUBE-SERVICES'])).stdout;
    const rule = (await held()).split('\n').find((line) => line.includes('demo/web:http cluster IP'))!;
    const args = ['-t', 'nat', ...rule.replace('-A', '-D').replaceAll('"', '').split(' ')];
    const comment = args.indexOf('--comment');
    args.splice(comment + 1, 3, 'demo/web:http cluster IP');
    const { status, stderr } = await bed.network.exec('n1', ['iptables', ...args]);
    assert.equal(status, 0, stderr);
    await until(
      async () => (await held()).includes('demo/web:http cluster IP'),
      60_000,
      () => bed.agent.log.slice(-1500),
    );
  } finally {
    await bed.close();
  }
});
