// Recorded scenarios into a real kernel, one after the other: what the system's own tools read back is what was recorded.
// Programs start slowly in an emulated machine, so the tools are asked after the last step of each, and of those scenarios
// that bring something new; the plans of all steps are compared where no machine is needed.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { World } from '../../../src/lab/network/world.ts';
import { TestCluster } from '../../support/cluster.ts';
import {
  factsOf,
  type IpvsScenario,
  ipvsScenarios,
  normalRules,
  normalServers,
  normalSets,
  type RecordedState,
  recordedState,
} from '../recorded.ts';
import { ScenarioCluster } from '../scenario-cluster.ts';
import { IpvsHost, IpvsNode } from './node.ts';

const HOST = 's1';

const TOLD = [
  'all-kinds',
  'dual-stack',
  'external-ips',
  'external-traffic-policy-local',
  'masquerade-all',
  'scheduler-change',
  'sctp',
  'session-affinity',
];

export function stateTests(): void {
  const world = new World();
  const cluster = new ScenarioCluster(new TestCluster());
  let host: IpvsHost;
  let node: IpvsNode;
  before(async () => {
    await world.add({ hosts: [{ name: HOST }], links: [] });
    host = await IpvsHost.open(world, HOST);
    node = new IpvsNode(host, cluster.tracker, (family) => factsOf(ipvsScenarios()[0]!, 0, family));
    for (const [device, kind, ...ips] of DEVICES) {
      await host.run('ip', 'link', 'add', device, 'type', kind);
      for (const ip of ips)
        await host.run('ip', 'addr', 'add', ip, 'dev', device, ...(ip.includes(':') ? ['nodad'] : []));
      await host.run('ip', 'link', 'set', device, 'up');
    }
    host.tune(false);
  });
  after(async () => {
    host.close();
    await world.remove(HOST);
  });

  for (const scenario of ipvsScenarios().filter(({ name }) => TOLD.includes(name))) {
    test(`${scenario.name}: ${scenario.about}`, () => play(host, node, cluster, scenario));
  }

  test('cleaning up leaves nothing of ours, and what others had', async () => {
    const foreign = ['-A -t 198.18.0.5:80 -s wlc', '-a -t 198.18.0.5:80 -r 10.244.1.13:8080 -m -w 1'];
    await host.run(
      'sh',
      '-c',
      `printf '%s\\n' ${foreign.map((line) => `'${line}'`).join(' ')} | ipvsadm -R; ipset create OTHERS hash:ip; iptables -N OTHERS`,
    );
    await host.cleanUp();
    const { servers, sets, addresses, rules } = await heldState(host);
    assert.deepEqual(servers, foreign);
    assert.deepEqual(
      sets.map((line) => line.split(' ')[1]),
      ['OTHERS'],
    );
    assert.deepEqual({ addresses, rules }, { addresses: [], rules: { IPv4: [], IPv6: [] } });
    assert.match(await host.run('iptables', '-S', 'OTHERS'), /OTHERS/);
    assert.doesNotMatch(await host.run('ip', 'link'), /kube-ipvs0/);
  });
}

const DEVICES = [
  ['eth0', 'dummy', '192.168.50.1/24', 'fd00:50::1/64'],
  ['cni0', 'bridge', '10.244.1.1/24', 'fd00:244:1::1/64'],
] as const;

async function play(host: IpvsHost, node: IpvsNode, cluster: ScenarioCluster, scenario: IpvsScenario): Promise<void> {
  cluster.clear();
  for (const [i, step] of scenario.steps.entries()) {
    cluster.play(step);
    node.facts = (family) => factsOf(scenario, i, family);
    await node.sync();
  }
  const recorded = recordedState(scenario, scenario.steps.length - 1);
  assert.deepEqual(await heldState(host), recorded);
}

/** As the system's tools tell it. */
async function heldState(host: IpvsHost): Promise<RecordedState> {
  const text = await host.run(
    'sh',
    '-c',
    'ipvsadm -Sn; echo ---; ipset save; echo ---; ip addr show; echo ---; iptables-save; echo ---; ip6tables-save',
  );
  const [servers = [], sets = [], addresses = [], ...rules] = text.split('---\n').map((part) => part.split('\n'));
  const device =
    addresses
      .join('\n')
      .split(/^\d+: /m)
      .find((each) => each.startsWith('kube-ipvs0:')) ?? '';
  return {
    servers: normalServers(servers),
    sets: normalSets(sets),
    addresses: [...device.matchAll(/^\s+inet6? (\S+)/gm)].map((match) => match[1]!).sort(),
    rules: { IPv4: normalRules(rules[0]!), IPv6: normalRules(rules[1]!) },
  };
}
