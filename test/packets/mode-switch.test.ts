// From every mode to every other by a restart, while clients open connections: the new rules stand before the old ones go, and nothing of the old
// mode stays. In userspace mode the agent itself carries the traffic, so there a restart is a gap by nature, which is told and not hidden.
// IPVS needs a kernel that has it; its switches are part of the tests in the virtual machine.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { KubeObject } from '../../src/lab/apiserver/object.ts';
import { until } from '../support/agent.ts';
import { AgentBed } from '../support/agent-bed.ts';
import { goldenCases } from '../support/golden.ts';
import { gapMs, TestLoad } from '../support/load.ts';

const MODES = ['iptables', 'nftables', 'userspace'] as const;
type SwitchedMode = (typeof MODES)[number];

describe('switching modes', () => {
  let bed: AgentBed;
  before(async () => {
    bed = await AgentBed.open();
    const nodePort = goldenCases().find(({ name }) => name === 'nodeport')!;
    bed.server.seed(nodePort.steps[0]!.apply as unknown as KubeObject[]);
  });
  after(() => bed.close());

  for (const from of MODES) {
    for (const to of MODES.filter((mode) => mode !== from)) {
      test(`from ${from} to ${to}`, async (t) => {
        await bed.startSynced({ config: config(from) });
        await until(
          () => onlyTracesOf(from),
          60_000,
          () => `${from} mode never came clean`,
        );
        const loads = await Promise.all([
          TestLoad.start(bed.network, 'a2', { kind: 'tcp', ip: clusterIp(), port: 80 }),
          TestLoad.start(bed.network, 'x', { kind: 'tcp', ip: '192.168.50.1', port: 30080 }),
        ]);
        await bed.startSynced({ config: config(to) });
        await until(
          () => onlyTracesOf(to),
          60_000,
          () => `rules of ${from} mode stayed`,
        );
        const accounts = await Promise.all(loads.map((load) => load.stop()));
        for (const account of accounts) {
          assert.ok(account.asked > 20, 'there was traffic');
          if (from === 'userspace') t.diagnostic(`the relays were away for ${gapMs(account)} ms`);
          else assert.deepEqual(account.failures, []);
        }
      });
    }
  }

  function config(mode: SwitchedMode): Record<string, unknown> {
    return { mode, featureGates: { PortolanUserspaceMode: true } };
  }

  function clusterIp(): string {
    return (bed.server.get('services', 'demo', 'web')! as unknown as { spec: { clusterIP: string } }).spec.clusterIP;
  }

  async function onlyTracesOf(mode: SwitchedMode): Promise<boolean> {
    const [iptables, nftables] = await Promise.all([
      bed.network.exec('n1', ['iptables-save']),
      bed.network.exec('n1', ['nft', 'list', 'tables']),
    ]);
    const found = {
      iptables: /:KUBE-(SERVICES|SVC-\w+|MARK-MASQ|PROXY-CANARY) /.test(iptables.stdout),
      nftables: nftables.stdout.includes('kube-proxy'),
      userspace: iptables.stdout.includes(':KUBE-PORTALS-CONTAINER '),
    };
    return MODES.every((each) => found[each] === (each === mode));
  }
});
