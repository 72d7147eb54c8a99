// The agent's life: how it starts, waits, tries again, is told to stop, and what it leaves behind.
import assert from 'node:assert/strict';
import { appendFileSync, chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { TestAgent } from '../support/agent.ts';
import { AgentBed, service, slice } from '../support/agent-bed.ts';
import { GOLDEN_NODES, type Manifest } from '../support/golden.ts';

const WEB = service({ name: 'web', ip: '10.96.3.1' });

describe('the life of an agent', () => {
  let bed: AgentBed;
  before(async () => {
    bed = await AgentBed.open();
  });
  after(() => bed.close());
  beforeEach(async () => {
    await bed.stop();
    bed.apply(...GOLDEN_NODES, WEB, slice('web', ['10.244.1.11']));
  });

  test('with --init-only it prepares the host, writes no rule and ends well', async () => {
    const agent = await bed.start({ args: ['--init-only'] });
    assert.deepEqual(await agent.process.exited, { status: 0, signal: null });
    assert.match(agent.log, /"System initialized and --init-only specified"/);
    assert.doesNotMatch(await bed.save('IPv4'), /KUBE-/);
    const { stdout } = await bed.network.exec('n1', ['sysctl', '-n', 'net.ipv4.conf.all.route_localnet']);
    assert.equal(stdout.trim(), '1');
  });

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`${signal} ends it at once with code 0, and the rules stay`, async () => {
      await bed.startSynced();
      await bed.rulesFollow();
      assert.equal(await bed.stop(signal), 0);
      await bed.rulesFollow();
    });
  }

  test('SIGTERM ends it also while it waits for an API server', async () => {
    await bed.server.faults.refuseConnections();
    const agent = await bed.start();
    await agent.said(/Failed to watch/);
    assert.equal(await bed.stop(), 0);
    await bed.server.faults.acceptConnections();
  });

  test('--cleanup removes what is ours in both families and nothing else', async () => {
    const foreign = [
      ['iptables', '-t', 'nat', '-A', 'PREROUTING', '-p', 'tcp', '--dport', '4711', '-j', 'REDIRECT'],
      ['iptables', '-N', 'MY-CHAIN'],
      ['iptables', '-A', 'MY-CHAIN', '-s', '203.0.113.1', '-j', 'DROP'],
      ['ip6tables', '-A', 'FORWARD', '-s', '2001:db8::1', '-j', 'DROP'],
    ];
    for (const argv of foreign) assert.equal((await bed.network.exec('n1', argv)).status, 0);
    await bed.startSynced();
    await bed.stop();
    const agent = await bed.start({ args: ['--cleanup'] });
    assert.deepEqual(await agent.process.exited, { status: 0, signal: null }, agent.log);
    for (const family of ['IPv4', 'IPv6'] as const) {
      const rules = await bed.save(family);
      assert.doesNotMatch(rules, /^:KUBE-(?!FIREWALL)/m);
      assert.doesNotMatch(rules, /-j KUBE-(?!FIREWALL)/);
    }
    const rules = await bed.save('IPv4');
    assert.match(rules, /-A PREROUTING -p tcp -m tcp --dport 4711 -j REDIRECT/);
    assert.match(rules, /-A MY-CHAIN -s 203.0.113.1\/32 -j DROP/);
    assert.match(await bed.save('IPv6'), /-A FORWARD -s 2001:db8::1\/128 -j DROP/);
    const flush = ['iptables -F', 'iptables -X', 'iptables -t nat -F', 'ip6tables -F', 'ip6tables -X'];
    await bed.network.exec('n1', ['sh', '-c', flush.join(';')]);
  });

  test('a second one says who works here and waits until that one ends', async () => {
    const first = await bed.startSynced();
    const second = await TestAgent.start(bed.network, bed.server);
    const { pid } = first.process;
    try {
      await second.said(RegExp(`"Another agent works on this node; waiting until it ends".* pid=${pid} `));
      assert.doesNotMatch(second.log, /"Synced"/);
      await bed.stop('SIGKILL');
      await second.said(/"Synced" ipFamily="IPv4"/);
      bed.apply(slice('web', ['10.244.2.11']));
      await bed.rulesFollow();
    } finally {
      assert.equal(await second.stop(), 0);
    }
  });

  test('a changed configuration file ends it with code 1 and a reason', async () => {
    const agent = await bed.startSynced();
    appendFileSync(agent.configFile, '\n');
    assert.deepEqual(await agent.process.exited, { status: 1, signal: null });
    const reason = `err="content of the proxy server's configuration file was updated"`;
    assert.ok(agent.log.includes(`"Error running ProxyServer" ${reason}`), agent.log.slice(-500));
    assert.ok(agent.log.includes(`"command failed" ${reason}`));
  });

  test('a node that moves to another zone gets the endpoints of that zone', async () => {
    bed.apply(inZones('web', { '10.244.1.11': 'za', '10.244.2.11': 'zb' }));
    await bed.startSynced();
    await bed.rulesFollow();
    const [n1] = GOLDEN_NODES;
    bed.apply({ ...n1!, metadata: { ...n1!.metadata, labels: { 'topology.kubernetes.io/zone': 'zb' } } });
    await bed.rulesFollow();
    assert.match(await bed.save('IPv4'), /DNAT --to-destination 10\.244\.2\.11:8080/);
    assert.doesNotMatch(await bed.save('IPv4'), /DNAT --to-destination 10\.244\.1\.11:8080/);
  });

  test('other pod networks of the node end it with code 1 where they say what is local', async () => {
    const agent = await bed.startSynced({ config: { detectLocalMode: 'NodeCIDR' } });
    const [n1] = GOLDEN_NODES;
    const podCIDRs = ['10.244.9.0/24', 'fd00:10:244:9::/64'];
    bed.server.delete('nodes', undefined, 'n1'); // they cannot be changed, so a changed node is a new one
    bed.apply({ ...n1!, spec: { podCIDR: podCIDRs[0], podCIDRs } });
    assert.deepEqual(await agent.process.exited, { status: 1, signal: null });
    assert.match(agent.log, /"PodCIDRs changed for the node".*10\.244\.9\.0\/24/);
    await bed.stop();
    bed.server.delete('nodes', undefined, 'n1');
  });

  test('a first sync that fails is tried again, and what went wrong is said', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'portolan-fake-'));
    const fake = join(folder, 'iptables-nft-restore');
    const [once, twice] = [join(folder, 'once'), join(folder, 'twice')];
    const script = [
      '#!/bin/sh',
      `[ -e ${twice} ] && exec /usr/sbin/iptables-nft-restore "$@"`,
      `if [ -e ${once} ]; then touch ${twice}; else touch ${once}; fi`,
      'echo out of luck >&2',
      'exit 1',
    ];
    writeFileSync(fake, `${script.join('\n')}\n`);
    chmodSync(fake, 0o755);
    try {
      const agent = await bed.start({
        config: { iptables: { syncPeriod: '1s', minSyncPeriod: '100ms' } },
        env: { PATH: `${folder}:${process.env.PATH}` },
      });
      await agent.said(/"Sync failed" err="[^"]*out of luck[^"]*".*ipFamily="IPv4"/);
      await agent.said(/"Sync works again" ipFamily="IPv4" failedBefore=2/);
      await bed.rulesFollow();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('changes in a row are written together, a pause apart', async () => {
    const agent = await bed.startSynced({ config: { iptables: { minSyncPeriod: '1s' } } });
    const from = agent.log.length;
    const syncs = (): number[] =>
      [...agent.log.slice(from).matchAll(/ (\d+):(\d+):([\d.]+) .*"Synced" ipFamily="IPv4"/g)].map(
        ([, h, m, s]) => Number(h) * 3600 + Number(m) * 60 + Number(s),
      );
    let changes = 0;
    while (syncs().length < 3) {
      bed.apply(slice('web', [changes++ % 2 === 0 ? '10.244.1.11' : '10.244.2.11']));
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    const times = syncs();
    assert.ok(changes > 5 * times.length, `${times.length} syncs for ${changes} changes`);
    for (const [i, time] of times.slice(1).entries()) assert.ok(time - times[i]! >= 1, `${time} after ${times[i]}`);
    bed.apply(slice('web', ['10.244.1.11', '10.244.2.11']));
    await bed.rulesFollow();
  });

  test('a kernel setting that cannot be written is a warning with its consequence', async () => {
    const agent = await bed.startSynced({ config: { conntrack: { maxPerCore: 1_000_000, min: 131_072 } } });
    assert.match(agent.log, /^W.*"A kernel setting could not be written" consequence=".*nf_conntrack_max.*"/m);
    await bed.rulesFollow();
  });

  test('who holds the lock of legacy iptables is named, and the sync is made up for', async () => {
    await bed.network.exec('n1', ['iptables-legacy', '-t', 'mangle', '-N', 'KUBE-IPTABLES-HINT']);
    const agent = await bed.startSynced({ config: { iptables: { syncPeriod: '1s', minSyncPeriod: '100ms' } } });
    assert.match(agent.log, /"Using iptables" variant="legacy"/);
    const holder = await bed.network.spawnIn('n1', ['flock', '/run/xtables.lock', 'sleep', '60']);
    bed.apply(slice('web', ['10.244.2.12']));
    await agent.said(/"Sync failed" err=".*xtables lock was not free within 5 s; flock \(pid \d+\) holds it/);
    await bed.network.exec('n1', ['sh', '-c', `kill $(cat /proc/${holder.pid}/task/${holder.pid}/children)`]);
    await holder.exited;
    await agent.said(/"Sync works again" ipFamily="IPv4"/);
    const { stdout } = await bed.network.exec('n1', ['iptables-legacy-save', '-t', 'nat']);
    assert.match(stdout, /DNAT --to-destination 10\.244\.2\.12:8080/);
  });

  test('a node name that nobody has is said loudly, with what it costs', async () => {
    const agent = await bed.start({ config: { hostnameOverride: 'nobody' } });
    await agent.said(
      /^E.*"Timed out waiting for node to exist" err="there is no Node named \\"nobody\\"" consequence="no endpoint counts as local.*--hostname-override"/m,
      0,
      60_000,
    );
    await agent.said(/"Synced" ipFamily="IPv4"/);
  });
});

function inZones(name: string, zones: Readonly<Record<string, string>>): Manifest {
  const made = slice(name, Object.keys(zones));
  const endpoints = (made.endpoints as { addresses: string[] }[]).map((endpoint) => {
    const zone = zones[endpoint.addresses[0]!]!;
    return { ...endpoint, zone, hints: { forZones: [{ name: zone }] } };
  });
  return { ...made, endpoints };
}
