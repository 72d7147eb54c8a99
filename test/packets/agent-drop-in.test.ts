// What others see of an agent that took the place of another kube-proxy: the API server, whoever reads its log, and load
// balancers that ask its ports.
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { ApiServer } from '../../src/lab/apiserver/server.ts';
import { TestAgent, until } from '../support/agent.ts';
import { AgentBed, service, slice } from '../support/agent-bed.ts';
import { GOLDEN_NODES, type Manifest } from '../support/golden.ts';

const WEB = service({ name: 'web', ip: '10.96.3.1', nodePort: 30080 });

const BALANCED: Manifest = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'test', name: 'balanced' },
  spec: {
    type: 'LoadBalancer',
    clusterIP: '10.96.3.2',
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: 31000,
    ports: [{ name: 'p', port: 80, nodePort: 30081, targetPort: 8080 }],
  },
};

describe('an agent in the place of another kube-proxy', () => {
  const lists: { readonly resource: string; readonly streamed: boolean }[] = [];
  let bed: AgentBed;
  before(async () => {
    bed = await AgentBed.open({
      onRequest: ({ verb, resource, query }) => {
        if (verb === 'list' || query.has('sendInitialEvents'))
          lists.push({ resource: resource.plural, streamed: query.has('sendInitialEvents') });
      },
    });
  });
  after(() => bed.close());
  beforeEach(async () => {
    await bed.stop();
    lists.length = 0;
    bed.apply(...GOLDEN_NODES, WEB, slice('web', ['10.244.1.11']));
  });

  test('names itself to the API server as kube-proxy does', async () => {
    const seen: IncomingHttpHeaders[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers);
      response.writeHead(503).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const agent = await TestAgent.start(bed.network, { port } as ApiServer);
    try {
      await agent.said(/Failed to watch/);
    } finally {
      await agent.stop();
      server.closeAllConnections();
      server.close();
    }
    assert.match(seen[0]?.['user-agent'] ?? '', /^kube-proxy\/v1\.36\.4 \(linux\/\w+\) kubernetes\/[0-9a-f]{7}$/);
  });

  test('says which mode it runs in the words runbooks search for', async () => {
    const agent = await bed.startSynced();
    assert.match(agent.log, /^I.*"Using iptables Proxier"$/m);
  });

  test('says more the more it is asked to: listeners, changes, rules', async () => {
    bed.apply(BALANCED);
    const agent = await bed.start({ args: ['-v', '5'] });
    await agent.said(/"Health-check port opened" ipFamily="IPv4" service="test\/balanced" port=31000$/m);
    await agent.said(/"Listening" bindAddress="0\.0\.0\.0:10256"$/m);
    await agent.said(/"Changed" ipFamily="IPv4" services=\[.*"test\/web".*\]$/m);
    await agent.said(/"Rules" ipFamily="IPv4" rules="\*.*-A KUBE-SERVICES .*10\.96\.3\.1/m);
    bed.delete(BALANCED);
    await agent.said(/"Health-check port closed" ipFamily="IPv4" service="test\/balanced" port=31000$/m);
  });

  test('says that IPVS mode is deprecated before it finds out whether the kernel has it', async () => {
    const agent = await bed.start({ config: { mode: 'ipvs' } });
    await agent.said(/^E.*"The ipvs proxier is now deprecated and may be removed in a future release\. Please use/m);
  });

  test('lists in place of streaming where the gate WatchListClient is off', async () => {
    await bed.startSynced({ config: { featureGates: { WatchListClient: false } } });
    await bed.rulesFollow();
    assert.deepEqual(lists.map(({ resource }) => resource).sort(), ['endpointslices', 'nodes', 'services']);
    assert.ok(lists.every(({ streamed }) => !streamed));
  });

  test('streams where nothing is said of it', async () => {
    await bed.startSynced();
    assert.ok(lists.length >= 3 && lists.every(({ streamed }) => streamed), JSON.stringify(lists));
  });

  test('calls its node by the name the API server knows, however the file spells it', async () => {
    await bed.startSynced({ config: { hostnameOverride: ' N1 ' } });
    const started = (): boolean =>
      bed.server.list('events').some((event) => {
        const { reason, involvedObject } = event as { reason?: string; involvedObject?: { name?: string } };
        return reason === 'Starting' && involvedObject?.name === 'n1';
      });
    await until(started, 60_000, () => JSON.stringify(bed.server.list('events')));
    await bed.rulesFollow();
  });

  test('takes node ports and health checks in a network that is named by an address in it', async () => {
    bed.apply(BALANCED, slice('balanced', ['10.244.1.11', '10.244.1.12']));
    await bed.startSynced({ config: { nodePortAddresses: ['192.168.50.77/24'] } });
    const answer = async (ip: string): Promise<string> => {
      const { stdout } = await bed.network.exec('n1', ['curl', '-s', '-m', '5', '-D', '-', `http://${ip}:31000/`]);
      return stdout;
    };
    let held = '';
    const isUp = async (): Promise<boolean> => {
      held = await answer('192.168.50.1');
      return /X-Load-Balancing-Endpoint-Weight: 2/.test(held);
    };
    await until(isUp, 60_000, () => held);
    assert.match(held, /^HTTP\/1.1 200 OK/);
    assert.equal(await answer('127.0.0.1'), '');
    assert.match(await bed.save('IPv4'), /-A KUBE-SERVICES -d 192\.168\.50\.1\/32 .* -j KUBE-NODEPORTS/);
    bed.delete(BALANCED, slice('balanced', []));
  });

  test('says so where endpoints are on nodes, but none on one of its name', async () => {
    bed.delete(slice('web', []));
    bed.apply(slice('elsewhere', ['10.244.2.11']));
    const agent = await bed.startSynced();
    await agent.said(/^W.*"No endpoint is on a node of this name" node="n1" othersAreOn=\["n2"\]/m);
    const from = agent.log.length;
    bed.apply(slice('web', ['10.244.1.11']));
    await agent.said(/"An endpoint is on this node now"/, from);
    bed.delete(slice('elsewhere', []));
  });

  test('tells the Node why it ends where a port is taken and that is not to be borne', async () => {
    const argv = [
      process.execPath,
      '-e',
      "require('net').createServer().listen(10249, '127.0.0.1', () => console.log('up'))",
    ];
    const holder = await bed.network.spawnIn('n1', argv);
    await new Promise((resolve) => holder.stdout.once('data', resolve));
    const agent = await bed.start({ config: { bindAddressHardFail: true } });
    assert.deepEqual(await agent.process.exited, { status: 1, signal: null });
    await holder.kill('SIGKILL');
    const taken = 'starting metrics server failed: listen tcp 127.0.0.1:10249: bind: address already in use';
    assert.match(agent.log, new RegExp(`"Error running ProxyServer" err="${taken}"`));
    const notes = bed.server.list('events').map((event) => {
      const { type, reason, message } = event as { type?: string; reason?: string; message?: string };
      return `${type} ${reason}: ${message}`;
    });
    assert.ok(notes.includes(`Warning FailedToStartMetricServer: ${taken}`), notes.join('\n'));
  });

  test('counts a partial sync that failed, tells the Node once, and is unhealthy until a sync works again', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'portolan-fake-'));
    const [fake, broken] = [join(folder, 'iptables-nft-restore'), join(folder, 'broken')];
    const script = [
      '#!/bin/sh',
      `[ -e ${broken} ] || exec /usr/sbin/iptables-nft-restore "$@"`,
      'echo no luck >&2',
      'exit 1',
    ];
    writeFileSync(fake, `${script.join('\n')}\n`);
    chmodSync(fake, 0o755);
    const curl = async (url: string): Promise<string> =>
      (await bed.network.exec('n1', ['curl', '-s', '-m', '5', '-w', '%{http_code}', url])).stdout;
    const healthz = 'http://127.0.0.1:10256/healthz';
    try {
      const agent = await bed.startSynced({
        config: { iptables: { syncPeriod: '1s', minSyncPeriod: '100ms' } },
        env: { PATH: `${folder}:${process.env.PATH}` },
      });
      await agent.settled();
      writeFileSync(broken, '');
      bed.apply(slice('web', ['10.244.1.11', '10.244.2.11']));
      await agent.said(/"Sync failed" .*failures=2/);
      const metrics = await curl('http://127.0.0.1:10249/metrics');
      assert.match(
        metrics,
        /^kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total{ip_family="IPv4"} 1$/m,
      );
      assert.match(metrics, /^kubeproxy_sync_partial_proxy_rules_duration_seconds_count{ip_family="IPv4"} 1$/m);
      let page = '';
      const answers = (code: number) => async (): Promise<boolean> => {
        page = await curl(healthz);
        return page.endsWith(String(code));
      };
      await until(answers(503), 60_000, () => page);
      assert.match(
        page,
        /"nodeEligible":true,"healthy":false,"status":{"IPv4":{[^}]*"healthy":false},"IPv6":{[^}]*"healthy":true}}/,
      );
      rmSync(broken);
      await until(answers(200), 60_000, () => page);
      await bed.rulesFollow();
    } finally {
      rmSync(folder, { recursive: true });
    }
    const told = bed.server.list('events').filter((event) => (event as { reason?: string }).reason === 'SyncFailed');
    assert.equal(told.length, 1);
    assert.match((told[0] as { message?: string }).message ?? '', /^IPv4: .*no luck/);
  });

  test('opens a health-check port that was taken as soon as it is free, without a change in the cluster', async () => {
    const argv = [
      process.execPath,
      '-e',
      "require('net').createServer().listen(31000, '0.0.0.0', () => console.log('up'))",
    ];
    const holder = await bed.network.spawnIn('n1', argv);
    await new Promise((resolve) => holder.stdout.once('data', resolve));
    bed.apply(BALANCED);
    const agent = await bed.startSynced({ config: { iptables: { syncPeriod: '1s', minSyncPeriod: '100ms' } } });
    await agent.said(/"Failed to start service healthcheck" err="node n1 failed to start healthcheck .* in use"/);
    await holder.kill('SIGKILL');
    const page = async (): Promise<string> =>
      (await bed.network.exec('n1', ['curl', '-s', '-m', '5', 'http://127.0.0.1:31000/'])).stdout;
    await until(
      async () => (await page()).includes('"balanced"'),
      60_000,
      () => agent.log,
    );
    assert.equal(agent.log.match(/Failed to start service healthcheck/g)?.length, 1);
    bed.delete(BALANCED);
  });

  test('says all that is questionable in its configuration in one line', async () => {
    const config = { clusterCIDR: 'fd00:10:244::/48', winkernel: { sourceVip: 'fd00::5' } };
    const agent = await bed.startSynced({ config });
    const texts = [
      'cluster is IPv4-primary but clusterCIDRs contains only IPv6 addresses',
      'cluster is IPv4-primary but winkernel.sourceVip is IPv6',
    ];
    assert.ok(agent.log.includes(`incomplete or incorrect" err="[${texts.join(', ')}]"`), agent.log);
    assert.match(
      agent.log,
      /"Detect-local-mode set to ClusterCIDR, but no cluster CIDR specified for primary IP family"/,
    );
  });

  test('goes on if its configuration file is deleted while it waits for the API server', async () => {
    await bed.server.faults.refuseConnections();
    const agent = await bed.start();
    await agent.said(/Failed to watch/);
    rmSync(agent.configFile);
    await bed.server.faults.acceptConnections();
    await agent.said(/"Synced" ipFamily="IPv4"/, 0, 60_000);
    await bed.rulesFollow();
  });

  test('ends with a code of its own if it crashes, and with one line that says where', async () => {
    // As soon as the program is set up for it.
    const crash = 'setInterval(()=>{if(process.listenerCount("uncaughtException"))throw(Error("oops"))},50)';
    const agent = await bed.start({
      env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(crash)}` },
    });
    assert.deepEqual(await agent.process.exited, { status: 2, signal: null }, agent.log);
    assert.match(agent.log, /^E.*"Crashed" err="Error: oops\\n .*"$/m);
  });

  test('says that --cleanup failed as it says every other failure', async () => {
    await bed.startSynced();
    await bed.stop();
    const agent = await bed.start({
      args: ['--cleanup'],
      wrapper: ['setpriv', '--bounding-set=-all', '--inh-caps=-all'],
    });
    assert.deepEqual(await agent.process.exited, { status: 1, signal: null });
    const text = 'err="encountered an error while tearing down rules"';
    assert.match(agent.log, new RegExp(`"Error running ProxyServer" ${text}\n.*"command failed" ${text}`));
    await bed.rulesFollow();
  });
});
