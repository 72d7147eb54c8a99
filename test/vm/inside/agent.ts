// The agent itself in IPVS mode, against an API server: what it says of itself, what it makes of changes and of foreign hands, and what
// it leaves when it is killed, replaced or told to clean up.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { kubeconfigText } from '../../../src/lab/apiserver/kubeconfig.ts';
import { type TestAgent, until } from '../../support/agent.ts';
import type { AgentBed } from '../../support/agent-bed.ts';
import { type HostState, hostState, NOTHING, runProgram, startAgent, stateBecomes, tool } from './agent-host.ts';
import { Askers } from './asker.ts';
import {
  ASKED,
  ASKED_COUNT,
  CLUSTER_IP,
  CLUSTER_IP6,
  EDGE,
  EXTERNAL_IP,
  HEALTH_PORT,
  LB_IP,
  LOCAL_LB_IP,
  NODE_IP,
  NODE_PORT,
  SHOP,
  slices,
  UDP_NODE_PORT,
} from './shop.ts';

const SYNC_PERIOD = { ipvs: { syncPeriod: '3s', minSyncPeriod: '100ms', excludeCIDRs: ['198.18.0.0/24'] } };
const PATIENCE_MS = 120_000;

export function agentTests(bed: () => AgentBed): void {
  let agent: TestAgent;
  let whole: HostState;
  before(() => bed().apply(...SHOP));
  after(async () => {
    await bed().stop();
    bed().delete(...SHOP);
  });

  test('with --init-only and flags alone it sets the kernel up, and writes nothing else', async () => {
    const { network, server } = bed();
    const kubeconfig = '/tmp/ipvs-kubeconfig';
    const port = await network.forward('n1', 0, server.port);
    writeFileSync(kubeconfig, kubeconfigText({ url: `http://127.0.0.1:${port}` }));
    const flags = ['--proxy-mode=ipvs', '--ipvs-strict-arp', '--ipvs-tcp-timeout=700s', '--hostname-override=n1'];
    const log = await runProgram(network, ...flags, `--kubeconfig=${kubeconfig}`, '--init-only');
    assert.match(log, /System initialized and --init-only specified/);
    assert.match(log, /The ipvs proxier is now deprecated/);
    const names = ['vs.conntrack', 'vs.expire_nodest_conn', 'vs.expire_quiescent_template', 'ip_forward'];
    const arp = ['conf.all.arp_ignore', 'conf.all.arp_announce'];
    const values = await tool(network, 'sysctl', '-n', ...[...names, ...arp].map((name) => `net.ipv4.${name}`));
    assert.deepEqual(values.trim().split('\n'), ['1', '1', '1', '1', '1', '2']);
    // Back, or nobody would find this node: its address is on another cable than the client.
    await tool(network, 'sysctl', '-qw', ...arp.map((name) => `net.ipv4.${name}=0`));
    assert.deepEqual(await hostState(network), NOTHING);
  });

  test('it starts, and a client of every kind of address is answered', async () => {
    const { network } = bed();
    agent = await startAgent(bed(), 'ipvs', SYNC_PERIOD);
    whole = await hostState(network);
    assert.ok(whole.servers.includes(`-A -t ${CLUSTER_IP}:80 -s rr`), whole.servers.join('\n'));
    const both = { 'a1:8080': ['node'], 'b1:8080': ['node'] };
    await answers('x', 'tcp', `${CLUSTER_IP}:80`, both);
    await answers('x', 'tcp', `${NODE_IP}:${NODE_PORT}`, both);
    await answers('x', 'tcp', `${LB_IP}:80`, both);
    await answers('x', 'tcp', `${EXTERNAL_IP}:80`, both);
    await answers('x', 'tcp', `${LOCAL_LB_IP}:80`, { 'a1:8080': ['client'] });
    await answers('x', 'udp', `${LB_IP}:53`, both);
    await answers('x', 'udp', `${NODE_IP}:${UDP_NODE_PORT}`, both);
    await answers('a2', 'tcp', `${CLUSTER_IP}:80`, { 'a1:8080': ['client'], 'b1:8080': ['client'] });
    await answers('a2', 'tcp', `[${CLUSTER_IP6}]:80`, { 'a1:8080': ['client'], 'b1:8080': ['client'] });
    await answers('x', 'tcp', `[${CLUSTER_IP6}]:80`, both);
  });

  test('its pages say that it is well and in IPVS mode', async () => {
    const { network, server } = bed();
    const page = (url: string) => tool(network, 'curl', '-s', `http://${url}`);
    assert.equal(await page('127.0.0.1:10249/proxyMode'), 'ipvs');
    for (const url of [`${NODE_IP}:10256/healthz`, `${NODE_IP}:10256/livez`, `${NODE_IP}:${HEALTH_PORT}/`]) {
      let met: unknown;
      await until(
        async () => {
          met = await network.probe({ from: 'x', http: url });
          return (met as { status?: number }).status === 200;
        },
        PATIENCE_MS,
        () => `${url}: ${JSON.stringify(met)}`,
      );
    }
    const metrics = await page('127.0.0.1:10249/metrics');
    for (const name of SHOWN) assert.match(metrics, RegExp(`^kubeproxy_${name}[{ ]`, 'm'));
    for (const name of HIDDEN) assert.doesNotMatch(metrics, RegExp(`^# TYPE kubeproxy_${name} `, 'm'));
    assert.match(agent.log, /^E.*The ipvs proxier is now deprecated and may be removed in a future release/m);
    await until(
      () => server.list('events').some((event) => (event as { reason?: string }).reason === 'IPVSDeprecation'),
      PATIENCE_MS,
      () => 'no event was sent',
    );
  });

  test('changes of objects reach the kernel: endpoints go and come, a service goes and comes', async () => {
    bed().apply(...slices('web', 'b1'));
    await answers('a2', 'tcp', `${CLUSTER_IP}:80`, { 'b1:8080': ['client'] });
    await answers('x', 'udp', `${LB_IP}:53`, { 'b1:8080': ['node'] });
    await answers('a2', 'tcp', `[${CLUSTER_IP6}]:80`, { 'b1:8080': ['client'] });
    bed().apply(...slices('web', 'a1', 'b1'));
    bed().delete(EDGE);
    await until(
      async () => !(await hostState(bed().network)).servers.some((line) => line.includes(LOCAL_LB_IP)),
      PATIENCE_MS,
      () => 'the virtual server of a deleted service stayed',
    );
    bed().apply(EDGE);
    await isWhole();
  });

  for (const [what, command] of DAMAGES) {
    test(`foreign hands: ${what} is noticed and mended`, async () => {
      const from = agent.log.length;
      await tool(bed().network, 'sh', '-c', command);
      await agent.said(/Rules were changed by somebody else/, from, PATIENCE_MS);
      await isWhole();
    });
  }

  test('what is theirs is left alone, also by one that starts; and excludeCIDRs protects even what looks like ours', async () => {
    const { network } = bed();
    await tool(network, 'sh', '-c', FOREIGN);
    agent = await startAgent(bed(), 'ipvs', SYNC_PERIOD);
    const servers = [...whole.servers, ...FOREIGN_SERVERS].sort();
    await stateBecomes(network, () => ({ ...whole, servers }), PATIENCE_MS, log);
    await tool(network, 'ipvsadm', '-D', '-t', '198.18.0.5:80');
    await tool(network, 'ipvsadm', '-D', '-t', '198.19.0.5:80');
  });

  test('killed and started again under load: no question fails', async (t) => {
    const { network } = bed();
    const askers = await Askers.start(network, ASKED);
    try {
      await until(
        () => askers.isAnsweredSince(0, ASKED_COUNT),
        PATIENCE_MS,
        () => `not everyone is answered: ${JSON.stringify(askers.since(0))}`,
      );
      const from = Date.now();
      await bed().stop('SIGKILL');
      agent = await startAgent(bed(), 'ipvs', SYNC_PERIOD);
      const synced = Date.now();
      await until(
        () => askers.isAnsweredSince(synced, ASKED_COUNT),
        PATIENCE_MS,
        () => `not everyone is answered: ${JSON.stringify(askers.since(synced))}`,
      );
      const { total, failures } = askers.since(from);
      t.diagnostic(`${failures.length} of ${total} questions failed`);
      assert.deepEqual(failures, []);
    } finally {
      await askers.stop();
    }
    await isWhole();
  });

  test('--cleanup leaves nothing', async () => {
    await bed().stop();
    await runProgram(bed().network, '--cleanup');
    assert.deepEqual(await hostState(bed().network), NOTHING);
  });

  /** An emulated machine may take longer over a packet than a client waits, and a change takes its time. */
  async function answers(
    from: string,
    proto: 'tcp' | 'udp',
    to: string,
    wanted: Readonly<Record<string, readonly string[]>>,
  ): Promise<void> {
    let met: unknown;
    await until(
      async () => {
        const { shares: _, ...result } = await bed().network.probe({ from, proto, to, count: 6 });
        met = result;
        return isSame(result, { answered: wanted });
      },
      PATIENCE_MS,
      () => `${from} ${proto} ${to} met ${JSON.stringify(met)}\n${log()}`,
    );
  }

  function isWhole(): Promise<void> {
    return stateBecomes(bed().network, () => whole, PATIENCE_MS, log);
  }

  function log(): string {
    return agent.log.slice(-2000);
  }
}

const SHOWN = [
  'sync_proxy_rules_duration_seconds_count',
  'sync_proxy_rules_last_timestamp_seconds',
  'sync_proxy_rules_last_queued_timestamp_seconds',
  'sync_proxy_rules_endpoint_changes_total',
  'sync_proxy_rules_service_changes_total',
  'sync_proxy_rules_no_local_endpoints_total',
  'sync_proxy_rules_endpoint_changes_pending',
  'conntrack_reconciler_deleted_entries_total',
];

const HIDDEN = [
  'sync_full_proxy_rules_duration_seconds',
  'sync_partial_proxy_rules_duration_seconds',
  'sync_proxy_rules_iptables_total',
  'sync_proxy_rules_nftables_sync_failures_total',
];

const DAMAGES = [
  ['virtual servers flushed (ipvsadm -C)', 'ipvsadm -C'],
  ['a real server deleted', `ipvsadm -d -t ${CLUSTER_IP}:80 -r 10.244.1.11:8080`],
  ['sets flushed (ipset flush)', 'ipset flush'],
  ['rules flushed (iptables -F)', 'iptables -F; iptables -t nat -F'],
  ['the device deleted (ip link del kube-ipvs0)', 'ip link del kube-ipvs0'],
] as const;

const FOREIGN = [
  'ip addr add 198.18.0.5/32 dev kube-ipvs0',
  'ipvsadm -A -t 198.18.0.5:80 -s wlc', // on our device, but in a network that we were told to leave alone
  'ipvsadm -A -t 198.19.0.5:80 -s wlc', // nothing of ours names it
].join(' && ');

const FOREIGN_SERVERS = ['-A -t 198.18.0.5:80 -s wlc', '-A -t 198.19.0.5:80 -s wlc'];

function isSame(a: unknown, b: unknown): boolean {
  try {
    assert.deepEqual(a, b);
    return true;
  } catch {
    return false;
  }
}
