// Clients that never stop asking, over TCP and UDP, from a pod and from outside, while the agent works, dies, comes back and
// takes over: none of them may notice, unless somebody else removed the rules.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { until } from '../support/agent.ts';
import { AgentBed, service, slice } from '../support/agent-bed.ts';
import { normalisedRules } from '../support/golden.ts';
import { type Account, gapMs, type Load, TestLoad } from '../support/load.ts';

const PODS = ['10.244.1.11', '10.244.1.12', '10.244.2.11', '10.244.2.12'] as const;
const TCP = service({ name: 'web', ip: '10.96.2.1', nodePort: 30080 });
const UDP = service({ name: 'dns', ip: '10.96.2.2', nodePort: 30053, protocol: 'UDP' });

/** From a pod of this node to the cluster IPs, from outside to the node ports. */
const LOADS: readonly (Load & { readonly from: string })[] = [
  { from: 'a1', kind: 'tcp', ip: '10.96.2.1', port: 80 },
  { from: 'a1', kind: 'udp', ip: '10.96.2.2', port: 80 },
  { from: 'x', kind: 'tcp', ip: '192.168.50.1', port: 30080 },
  { from: 'x', kind: 'udp', ip: '192.168.50.1', port: 30053 },
];

for (const mode of ['iptables', 'nftables'] as const) {
  describe(`clients that never stop asking, ${mode} mode`, () => {
    let bed: AgentBed;
    before(async () => {
      bed = await AgentBed.open();
    });
    after(() => bed.close());
    beforeEach(async () => {
      bed.apply(TCP, UDP, webSlice(PODS), dnsSlice(PODS));
    });

    const config = { mode };
    const rulesFollow = (): Promise<void> => (mode === 'iptables' ? bed.rulesFollow() : rowsFollow(bed));

    test('see nothing of endpoints that come and go', async (t) => {
      await bed.startSynced({ config });
      await rulesFollow();
      const accounts = await underLoad(bed, async () => {
        for (let i = 0; i < 1000; i++) {
          churn(bed, i);
          await delay(10);
        }
      });
      noneFailed(t, accounts);
      await rulesFollow();
    });

    test('see nothing of an agent that is killed and started again 20 times', async (t) => {
      await bed.startSynced({ config });
      await rulesFollow();
      const accounts = await underLoad(bed, async () => {
        for (let i = 0; i < 20; i++) {
          await bed.stop('SIGKILL');
          churn(bed, i);
          // Sometimes it dies before its first sync, sometimes in it, sometimes after.
          if (i % 2 === 0) await bed.startSynced({ config });
          else {
            await bed.start({ config });
            await delay(i * 40);
          }
        }
        await bed.startSynced({ config });
      });
      noneFailed(t, accounts);
      await rulesFollow();
    });

    if (mode !== 'iptables') return; // what follows is about rules of others that are iptables' own

    test('see nothing of an agent that takes over the rules of another kube-proxy', async (t) => {
      await bed.startSynced();
      await bed.rulesFollow();
      await bed.stop();
      // The rules as upstream leaves them, where a service went and an endpoint moved since.
      const rules = normalisedRules(await bed.save('IPv4'));
      const accounts = await underLoad(bed, async () => {
        await bed.network.exec('n1', ['iptables-restore'], { stdin: `${withStaleService(rules)}\n` });
        churn(bed, 1);
        await bed.startSynced();
        await bed.rulesFollow();
      });
      noneFailed(t, accounts);
      assert.doesNotMatch(await bed.save('IPv4'), /KUBE-SVC-AAAAAAAAAAAAAAAA/);
    });

    test('fail only while another program has removed the rules, and the agent brings them back', async (t) => {
      await bed.startSynced({ config: { iptables: { syncPeriod: '1s', minSyncPeriod: '100ms' } } });
      await bed.rulesFollow();
      const { agent } = bed;
      const from = agent.log.length;
      let flushedAt = 0;
      const accounts = await underLoad(bed, async () => {
        flushedAt = Date.now();
        await flush(bed);
        await agent.said(/Rules were changed by somebody else and are being restored.*flushed/, from);
        await bed.rulesFollow();
        await delay(500);
      });
      const mendedAt = Date.now();
      for (const [i, account] of accounts.entries()) {
        const { from: host, kind } = LOADS[i]!;
        t.diagnostic(
          `${kind} from ${host}: ${account.failures.length} of ${account.asked} failed, over ${gapMs(account)} ms`,
        );
        for (const { at } of account.failures) assert.ok(at >= flushedAt - 3000 && at <= mendedAt);
      }
      // Afterwards none does: not even one whose port was used, to no avail, while there were no rules.
      noneFailed(t, await underLoad(bed, () => delay(500)));
    });
  });
}

test('flushed rules come back long before the next look at everything is due', async (t) => {
  const bed = await AgentBed.open();
  t.after(() => bed.close());
  bed.apply(TCP, webSlice(PODS));
  const agent = await bed.startSynced({ config: { iptables: { syncPeriod: '1h', minSyncPeriod: '100ms' } } });
  await bed.rulesFollow();
  await flush(bed);
  await agent.said(/Rules were changed by somebody else and are being restored.*flushed/);
  await bed.rulesFollow(30_000);
});

describe('clients that ask while the rules are gone', () => {
  let bed: AgentBed;
  before(async () => {
    bed = await AgentBed.open();
    // The kernel tracks connections only where a rule asks about them, as those of most hosts do.
    const rule = '-t raw -A OUTPUT -m conntrack --ctstate INVALID -j ACCEPT';
    await bed.network.exec('n1', ['iptables', ...rule.split(' ')]);
  });
  after(() => bed.close());

  for (const load of [
    { kind: 'tcp', ip: '10.96.2.1', port: 80, timeoutMs: 60_000 },
    { kind: 'udp-flow', ip: '10.96.2.2', port: 80 },
  ] as const) {
    test(`are answered when they are back: ${load.kind}`, async () => {
      bed.apply(TCP, UDP, webSlice(PODS), dnsSlice(PODS));
      const agent = await bed.startSynced({ config: { iptables: { syncPeriod: '1s', minSyncPeriod: '100ms' } } });
      await bed.rulesFollow();
      await agent.process.kill('SIGSTOP');
      await flush(bed);
      const client = TestLoad.start(bed.network, 'a1', load);
      try {
        await until(
          async () => (await trackedTo(bed, load)).includes('[UNREPLIED]'),
          60_000,
          () => 'nobody asks',
        );
      } finally {
        await agent.process.kill('SIGCONT');
      }
      await bed.rulesFollow();
      const { last, failures } = await (await client).stop();
      assert.notEqual(last, undefined);
      if (load.kind === 'tcp') assert.deepEqual(failures, []);
    });
  }
});

describe('a UDP client that keeps its socket', () => {
  let bed: AgentBed;
  before(async () => {
    bed = await AgentBed.open();
  });
  after(() => bed.close());
  beforeEach(async () => {
    bed.apply(UDP, dnsSlice(['10.244.1.12']));
    await bed.startSynced();
    await bed.rulesFollow();
  });

  const flow = (host = 'a1'): Promise<TestLoad> =>
    TestLoad.start(bed.network, host, { kind: 'udp-flow', ip: '10.96.2.2', port: 80 });

  test('is led to another endpoint when its own goes', async () => {
    const client = await flow();
    bed.apply(dnsSlice(['10.244.2.12']));
    await bed.rulesFollow();
    await flowsEnd(bed, '10.244.1.12');
    await delay(300);
    assert.equal((await client.stop()).last, 'b2');
  });

  test('is led to another endpoint when its own went while no agent ran', async () => {
    const client = await flow();
    await bed.stop('SIGKILL');
    bed.apply(dnsSlice(['10.244.2.12']));
    await bed.startSynced();
    await flowsEnd(bed, '10.244.1.12');
    await delay(300);
    assert.equal((await client.stop()).last, 'b2');
  });

  test('gets no more answers when the last endpoint goes, and is served again when one comes', async () => {
    const client = await flow();
    bed.apply(dnsSlice([]));
    await bed.rulesFollow();
    await flowsEnd(bed, '10.244.1.12');
    bed.apply(dnsSlice(['10.244.2.12']));
    await bed.rulesFollow();
    await delay(500);
    const account = await client.stop();
    assert.equal(account.last, 'b2');
    assert.ok(account.failures.length > 0);
  });

  test('gets no more answers when the service is deleted', async () => {
    const client = await flow();
    bed.delete(UDP, dnsSlice([]));
    await bed.rulesFollow();
    await flowsEnd(bed, '10.244.1.12');
    await client.stop();
  });

  test('gets no more answers when the service was deleted while no agent ran', async () => {
    const client = await flow();
    await bed.stop('SIGKILL');
    bed.delete(UDP, dnsSlice([]));
    await bed.startSynced();
    await bed.rulesFollow();
    await flowsEnd(bed, '10.244.1.12');
    await client.stop();
  });
});

function webSlice(ips: readonly string[]): ReturnType<typeof slice> {
  return slice('web', ips);
}

function dnsSlice(ips: readonly string[]): ReturnType<typeof slice> {
  return slice('dns', ips, { protocol: 'UDP' });
}

/** All pods run throughout; which of them count as endpoints changes. Over UDP those that do not are on their way out and still
 *  serve, as pods do: a question that was under way to an endpoint which vanishes loses its answer with its flow. */
function churn(bed: AgentBed, i: number): void {
  const isChosen = (pod: number): boolean => (((i % 15) + 1) & (1 << pod)) !== 0;
  bed.apply(webSlice(PODS.filter((_, pod) => isChosen(pod))));
  const dns = dnsSlice(PODS);
  const endpoints = (dns.endpoints as object[]).map((endpoint, pod) => {
    const conditions = { ready: isChosen(pod), serving: true, terminating: !isChosen(pod) };
    return { ...endpoint, conditions };
  });
  bed.apply({ ...dns, endpoints });
}

/** Resolves when n1's maps name exactly the endpoints that the API server has, each at all addresses. */
async function rowsFollow(bed: AgentBed): Promise<void> {
  const wanted = ['web', 'dns'].map((name) => readyIps(bed, name));
  let held: string[][] = [];
  const isHeld = async (): Promise<boolean> => {
    held = await Promise.all(
      ['tcp', 'udp'].map(async (transport) => {
        const list = `nft list map ip kube-proxy endpoints-${transport}; nft list map ip kube-proxy nodeport-endpoints-${transport}`;
        const { stdout } = await bed.network.exec('n1', ['sh', '-c', list]);
        const rows = [...stdout.matchAll(/(?:10\.96\.2\.\d \. 80|300\d\d) \. \d+ .*?: (10\.244\.[\d.]+)/g)];
        return rows.map(([, ip]) => ip!).sort();
      }),
    );
    return isDeepStrictEqual(
      held,
      wanted.map((ips) => [...ips, ...ips].sort()),
    );
  };
  await until(isHeld, 60_000, () => `${JSON.stringify(held)}, but the API server has ${JSON.stringify(wanted)}`);
}

function readyIps(bed: AgentBed, service: string): string[] {
  const slices = bed.server.list('endpointslices') as unknown as ReturnType<typeof slice>[];
  const { endpoints } = slices.find(({ metadata }) => metadata.name.startsWith(service))!;
  return (endpoints as { addresses: string[]; conditions?: { ready?: boolean } }[])
    .filter(({ conditions }) => conditions?.ready !== false)
    .map(({ addresses }) => addresses[0]!);
}

/** Removes all rules, as a firewall that starts anew does. Once some are gone the agent may put them back at any time. */
async function flush(bed: AgentBed): Promise<void> {
  for (const table of ['nat', 'filter', 'mangle'])
    await bed.network.exec('n1', ['sh', '-c', `iptables -t ${table} -F; iptables -t ${table} -X || true`]);
}

async function underLoad(bed: AgentBed, action: () => Promise<unknown>): Promise<readonly Account[]> {
  const loads = await Promise.all(LOADS.map(({ from, ...load }) => TestLoad.start(bed.network, from, load)));
  try {
    await action();
  } catch (error) {
    await Promise.all(loads.map((load) => load.stop()));
    throw error;
  }
  return Promise.all(loads.map((load) => load.stop()));
}

function noneFailed(t: TestContext, accounts: readonly Account[]): void {
  for (const [i, { asked, failures }] of accounts.entries()) {
    const { from, kind } = LOADS[i]!;
    t.diagnostic(`${kind} from ${from}: ${asked} asked`);
    assert.deepEqual(failures, [], `${kind} from ${from}: ${failures.length} of ${asked}`);
  }
}

/** What n1 tracks of connections that a1 dialled. */
async function trackedTo(bed: AgentBed, { kind, ip }: Load): Promise<string> {
  const protocol = kind === 'tcp' ? 'tcp' : 'udp';
  return (await bed.network.exec('n1', ['conntrack', '-L', '-p', protocol, '--orig-dst', ip])).stdout;
}

/** No tracked flow leads to this pod any more. */
async function flowsEnd(bed: AgentBed, ip: string): Promise<void> {
  let flows = '';
  await until(
    async () => {
      flows = (await bed.network.exec('n1', ['conntrack', '-L', '-p', 'udp', '--reply-src', ip])).stdout;
      return !flows.includes('10.96.2.2');
    },
    60_000,
    () => `flows stay:\n${flows}\n${bed.agent.log.slice(-2000)}`,
  );
}

/** Adds a service that no longer exists, with a chain of its own. */
function withStaleService(rules: string): string {
  const stale = [
    ':KUBE-SVC-AAAAAAAAAAAAAAAA -',
    '-A KUBE-SERVICES -d 10.96.9.9/32 -p tcp -m comment --comment "old/gone cluster IP" -m tcp --dport 80 -j KUBE-SVC-AAAAAAAAAAAAAAAA',
    '-A KUBE-SVC-AAAAAAAAAAAAAAAA -j KUBE-MARK-MASQ',
  ];
  const [chain, ...others] = stale;
  return rules.replace('*nat\n', `*nat\n${chain}\n`).replace(/\nCOMMIT/, `\n${others.join('\n')}\nCOMMIT`);
}
