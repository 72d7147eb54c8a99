// The agent's own check against a real kernel, some Services at a time: what is wrong with any of them is found before the round is
// over, stays known while others are checked, and a healthy node has nothing to complain about.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { before, describe, test } from 'node:test';
import { type CheckNews, checkNowAndThen } from '../../src/daemon/self-check.ts';
import { continueInSandbox } from '../../src/lab/sandbox.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { NodeModel } from '../../src/model/model.ts';
import { resolveNode } from '../../src/model/resolve.ts';
import { iptablesMode } from '../../src/modes/iptables/iptables.ts';
import { serviceChains } from '../../src/modes/iptables/names.ts';
import { nftablesMode } from '../../src/modes/nftables/nftables.ts';
import type { Log } from '../../src/observe/log.ts';
import { TestCluster } from '../support/cluster.ts';
import { iptablesFactsOf, nftablesFactsOf, settingsFor } from '../support/derived.ts';
import { GOLDEN_NODES } from '../support/golden.ts';
import { serviceManifest, sliceManifest } from '../support/manifests.ts';
import { FAULTY_CLUSTER, N1 } from '../support/verify.ts';

continueInSandbox(import.meta.url);

type Mode = 'iptables' | 'nftables';

const CONFIGURED = { config: { nodePortAddresses: ['192.168.50.0/24'] } };

const POD = { addresses: ['10.244.1.11'], nodeName: 'n1', conditions: { ready: true } };
const OTHER_POD = { addresses: ['10.244.2.21'], nodeName: 'n2', conditions: { ready: true } };
/** Beside one Service of each kind: two that claim one address, and some that share an endpoint with others. */
const cluster = new TestCluster().apply(
  ...GOLDEN_NODES,
  ...FAULTY_CLUSTER,
  serviceManifest('demo/claims-1', { clusterIP: '10.96.2.1', externalIPs: ['198.51.100.20'] }),
  sliceManifest('demo/claims-1', [POD]),
  serviceManifest('demo/claims-2', { clusterIP: '10.96.2.2', externalIPs: ['198.51.100.20'] }),
  sliceManifest('demo/claims-2', [OTHER_POD]),
  serviceManifest('demo/z', { clusterIP: '10.96.2.3' }),
  sliceManifest('demo/z', [POD, OTHER_POD]),
);
const model: NodeModel = resolveNode(cluster.tracker.take('IPv4'), N1);
const SIZE = { services: 3, endpoints: 1000 };
/** One of each three may be a Service that is asked again. */
const CHECKS_IN_A_ROUND = Math.ceil(model.services.size / (SIZE.services - 1));

const FAULTS: Readonly<Record<Mode, Readonly<Record<string, { inject: string; finds: RegExp }>>>> = {
  iptables: {
    'a rule of the last Service is gone': {
      inject: `iptables -t nat -F ${serviceChains({ displayName: 'demo/z:http', protocol: 'TCP' } as never).cluster}`,
      finds: /^demo\/z:http: cluster-ip 10\.96\.2\.3:80\/tcp .*: a chain is empty in nat KUBE-SVC-/,
    },
    'the guard of an address is gone': {
      inject: 'iptables -F KUBE-PROXY-FIREWALL',
      finds:
        /^demo\/guarded:http: load-balancer-ip 203\.0\.113\.10:80\/tcp .*: a chain is empty in filter KUBE-PROXY-FIREWALL/,
    },
    'somebody drops what goes to one endpoint': {
      inject: 'iptables -I FORWARD -d 10.244.2.21 -p tcp --dport 8080 -j DROP',
      finds: /^demo\/(claims-2|z):http: .*: a rule that is not the proxy’s comes in between in filter FORWARD/,
    },
    'somebody translates a node port first': {
      inject: 'iptables -t nat -I PREROUTING -p tcp --dport 30081 -j DNAT --to-destination 192.0.2.1:80',
      finds:
        /^demo\/local:http: node-port 192\.168\.50\.1:30081\/tcp .*: a rule that is not the proxy’s comes in between/,
    },
  },
  nftables: {
    'a row of the last Service is gone': {
      inject: 'nft delete element ip kube-proxy endpoints-tcp { 10.96.2.3 . 80 . 1 }',
      finds: /^demo\/z:http: cluster-ip 10\.96\.2\.3:80\/tcp .*: a row is missing in kube-proxy endpoints-tcp/,
    },
    'a row of a Service that others share an endpoint with is gone': {
      inject: 'nft delete element ip kube-proxy hairpin-connections { 10.244.1.11 . 10.244.1.11 . tcp . 8080 }',
      finds: /^demo\/.*an endpoint itself.*: a row is missing in kube-proxy hairpin-connections/,
    },
    'the guard of an address is gone': {
      inject: 'nft delete element ip kube-proxy firewall-ips { 203.0.113.10 . tcp . 80 }',
      finds:
        /^demo\/guarded:http: load-balancer-ip 203\.0\.113\.10:80\/tcp .*: a row is missing in kube-proxy firewall-ips/,
    },
    'somebody drops what goes to one endpoint': {
      inject:
        'nft -f - <<< "table inet mine { chain f { type filter hook forward priority 0; ip daddr 10.244.2.21 drop; }; }"',
      finds: /^demo\/(claims-2|z):http: .*: a rule that is not the proxy’s comes in between in mine f/,
    },
  },
};

before(() => {
  shell('ip link add node0 type bridge && ip addr add 192.168.50.1/24 dev node0 && ip link set node0 up');
});

for (const mode of ['iptables', 'nftables'] as const) {
  describe(`self-check of some Services at a time, in ${mode} mode`, () => {
    test('nothing is wrong with any Service of a healthy node', async () => {
      await load(mode);
      const news = await checks(mode, CHECKS_IN_A_ROUND + 1);
      assert.deepEqual(
        news.map(({ mismatches, first }) => ({ mismatches, first })),
        news.map(() => ({ mismatches: 0, first: undefined })),
      );
      assert.ok(news.every(({ cases }) => cases > 0));
    });

    for (const [title, { inject, finds }] of Object.entries(FAULTS[mode])) {
      test(`${title}: found within a round, and known until it is mended`, async () => {
        await load(mode);
        shell(inject);
        const news = await checks(mode, 2 * CHECKS_IN_A_ROUND, async (soFar) => {
          if (soFar === CHECKS_IN_A_ROUND) await load(mode);
        });
        const broken = news.slice(0, CHECKS_IN_A_ROUND);
        const found = broken.findIndex(({ mismatches }) => mismatches > 0);
        assert.match(broken[found]?.first ?? 'nothing', finds);
        for (const { mismatches, first } of broken.slice(found))
          assert.ok(mismatches > 0 && first, JSON.stringify(news));
        assert.equal(news.at(-1)!.mismatches, 0);
      });
    }
  });
}

describe('self-check while syncs go on', () => {
  const [, { inject, finds }] = Object.entries(FAULTS.nftables)[0]!;

  test('what is wrong with a Service that stays the same is told', async () => {
    await load('nftables');
    shell(inject);
    const news = await checks('nftables', CHECKS_IN_A_ROUND, undefined, () => ({ ...model }));
    assert.match(news.at(-1)!.first ?? '', finds);
  });

  test('what is wrong with one that has changed since its rules were read is not', async () => {
    const changing = (): NodeModel => ({
      ...model,
      services: new Map([...model.services].map(([name, service]) => [name, { ...service }])),
    });
    const news = await checks('nftables', CHECKS_IN_A_ROUND, undefined, changing);
    assert.deepEqual(new Set(news.map(({ mismatches }) => mismatches)), new Set([0]));
  });
});

/** What is known after each of so many checks; `after` is waited for before the next. */
async function checks(
  mode: Mode,
  count: number,
  after: (soFar: number) => Promise<void> = async () => {},
  synced: () => NodeModel = () => model,
): Promise<CheckNews[]> {
  const news: CheckNews[] = [];
  const ending = new AbortController();
  const failures: unknown[] = [];
  const clock: Clock = { now: () => 0, wallNow: () => 0, wait: () => after(news.length) };
  const log = { info: () => {}, warning: () => {}, error: (error: unknown) => failures.push(error) };
  const options = {
    mode,
    settings: settingsFor(CONFIGURED, mode),
    nodeName: 'n1',
    clock,
    log: log as unknown as Log,
    periodMs: 1,
    size: SIZE,
    models: () => new Map([['IPv4', synced()] as const]),
    onResult: (_: string, one: CheckNews) => {
      news.push(one);
      if (news.length === count) ending.abort();
    },
  };
  await checkNowAndThen(options, ending.signal);
  assert.deepEqual(failures, []);
  return news;
}

/** The rules as they should be, and none of others. */
async function load(mode: Mode): Promise<void> {
  shell('nft flush ruleset');
  if (mode === 'nftables') {
    const plan = nftablesMode.plan(model, nftablesFactsOf(CONFIGURED).IPv4);
    execFileSync('nft', ['-f', '-'], { input: nftablesMode.print(plan) });
    return;
  }
  const plan = iptablesMode.plan(model, iptablesFactsOf(CONFIGURED).IPv4);
  execFileSync('iptables-restore', [], { input: iptablesMode.print(plan) });
}

function shell(script: string): void {
  execFileSync('bash', ['-ec', script]);
}
