// From what upstream's kube-proxy leaves in each of its modes to ours, while clients ask: the state as it was recorded, or as its text
// reads, is written with the system's tools, and then our agent starts in another mode.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { Network } from '../../../src/lab/network/network.ts';
import { until } from '../../support/agent.ts';
import type { AgentBed } from '../../support/agent-bed.ts';
import { goldenCases, type Manifest, normalisedRules, recordedRules } from '../../support/golden.ts';
import { upstreamNftables } from '../../support/upstream-nftables.ts';
import { ipvsScenarios, recordedSections } from '../recorded.ts';
import { type AgentMode, hostState, NOTHING, runProgram, startAgent, tool } from './agent-host.ts';
import { type AskedTarget, Askers, withoutExcused } from './asker.ts';

interface TakeOver {
  readonly of: string;
  readonly to: AgentMode;
  readonly objects: readonly Manifest[];
  readonly write: (network: Network) => Promise<void>;
  readonly asked: readonly AskedTarget[];
  /** What upstream left. */
  readonly isGone: (rules: string) => boolean;
}

export function upstreamTests(bed: () => AgentBed): void {
  before(async () => {
    await bed().stop();
    await runProgram(bed().network, '--cleanup');
  });
  for (const { of, to, objects, write, asked, isGone } of TAKE_OVERS) {
    test(`from upstream's ${of} mode to ${to} mode`, async (t) => {
      const { network } = bed();
      bed().apply(...objects);
      await write(network);
      const askers = await Askers.start(network, { x: asked });
      const answered = async (since: number): Promise<void> =>
        until(
          () => askers.isAnsweredSince(since, asked.length),
          90_000,
          () => `not everyone is answered: ${JSON.stringify(askers.since(since))}`,
        );
      try {
        await answered(0);
        const from = Date.now();
        const agent = await startAgent(bed(), to);
        await until(
          async () => isGone(JSON.stringify(await hostState(network))),
          90_000,
          () => `what upstream left stayed: ${agent.log.slice(-2000)}`,
        );
        await answered(Date.now());
        const { failures, total } = askers.since(from);
        t.diagnostic(`${failures.length} of ${total} questions failed`);
        assert.deepEqual(of === 'IPVS' ? withoutExcused(failures) : failures, []);
      } finally {
        await askers.stop();
        await bed().stop();
        bed().delete(...objects);
      }
      await runProgram(network, '--cleanup');
      assert.deepEqual(await hostState(network), NOTHING);
    });
  }
}

const NODE_PORT: AskedTarget = { kind: 'tcp', ip: '192.168.50.1', port: 30080 };
const golden = goldenCases().find(({ name }) => name === 'nodeport')!;
const scenario = ipvsScenarios().find(({ name }) => name === 'nodeport')!;
const scenarioObjects = scenario.steps[0]!.apply!.map((object) => ({
  apiVersion: object.kind === 'Service' ? 'v1' : 'discovery.k8s.io/v1',
  ...object,
}));

const TAKE_OVERS: readonly TakeOver[] = [
  {
    of: 'iptables',
    to: 'ipvs',
    objects: golden.steps[0]!.apply!,
    write: async (network) => {
      await feed(network, 'iptables-restore', normalisedRules(recordedRules(golden, 0, 'IPv4')));
      await feed(network, 'ip6tables-restore', normalisedRules(recordedRules(golden, 0, 'IPv6')));
    },
    asked: [{ kind: 'tcp', ip: '10.96.10.8', port: 80 }, NODE_PORT],
    isGone: (state) => !state.includes('KUBE-SVC-'),
  },
  ...(['iptables', 'nftables'] as const).map(
    (to): TakeOver => ({
      of: 'IPVS',
      to,
      objects: scenarioObjects,
      write: writeIpvsState,
      asked: [{ kind: 'tcp', ip: '10.96.10.3', port: 80 }, { kind: 'udp-flow', ip: '10.96.10.3', port: 53 }, NODE_PORT],
      isGone: (state) => !state.includes('KUBE-IPVS-FILTER'),
    }),
  ),
  {
    of: 'nftables',
    to: 'ipvs',
    objects: golden.steps[0]!.apply!,
    write: (network) => feed(network, 'nft -f -', UPSTREAM_TABLES),
    asked: [{ kind: 'tcp', ip: '10.96.10.8', port: 80 }, NODE_PORT],
    isGone: (state) => !state.includes('table ip kube-proxy'),
  },
];

async function writeIpvsState(network: Network): Promise<void> {
  const of = recordedSections(scenario, 0);
  await feed(network, 'ipset restore', of('ipset-save'));
  for (const [program, tables] of [
    ['iptables', ['iptables-nat', 'iptables-filter']],
    ['ip6tables', ['ip6tables-nat', 'ip6tables-filter']],
  ] as const)
    await feed(network, `${program}-restore`, tables.map(of).join(''));
  await feed(network, 'ipvsadm -R', of('ipvsadm-save'));
  const addresses = [...of('kube-ipvs0').matchAll(/^\s+inet6? (\S+)/gm)].map((match) => match[1]!);
  const commands = ['ip link add kube-ipvs0 type dummy', ...addresses.map((ip) => `ip addr add ${ip} dev kube-ipvs0`)];
  const settings = ['conntrack', 'expire_nodest_conn', 'expire_quiescent_template'];
  commands.push(...settings.map((name) => `sysctl -qw net.ipv4.vs.${name}=1`));
  await tool(network, 'sh', '-c', commands.join(' && '));
}

async function feed(network: Network, command: string, stdin: string): Promise<void> {
  const { status, stderr } = await network.exec('n1', ['sh', '-c', command], { stdin });
  assert.equal(status, 0, `${command}: ${stderr}`);
}

const UPSTREAM_SERVICE = {
  name: 'demo/web',
  clusterIP: '10.96.10.8',
  nodePort: 30080,
  endpointIPs: ['10.244.1.11', '10.244.2.11'],
};
const UPSTREAM_TABLES = `${upstreamNftables(UPSTREAM_SERVICE)}table ip6 kube-proxy { chain services { }; }`;
