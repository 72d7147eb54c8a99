// The agent with the rights of the least-privilege overlay and no others: it programs the kernel, and says what it lost.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { parse } from 'yaml';
import { type ApiServer, startApiServer } from '../../src/lab/apiserver/server.ts';
import { continueInSandbox } from '../../src/lab/sandbox.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { NODE, type RunningAgent, startAgent } from './agent.ts';
import type { Workload } from './workload.ts';

continueInSandbox(import.meta.url);

const PATCH = new URL('../../deploy/overlays/least-privilege/daemon-set-patch.yaml', import.meta.url);
const { containers } = (parse(readFileSync(PATCH, 'utf8')) as Workload).spec.template.spec;
const rights = containers[0]!.securityContext.capabilities!.add.map((name) => `+${name.toLowerCase()}`);
const set = ['-all', ...rights].join(',');
// /proc/sys is read-only in a container that is not privileged.
const READ_ONLY = 'mount -o bind,ro /proc/sys /proc/sys && exec "$@"';
const CONFINED = [
  ...['unshare', '--mount', 'sh', '-c', READ_ONLY, 'sh'],
  ...['setpriv', `--bounding-set=${set}`, `--inh-caps=${set}`, '--no-new-privs'],
];
const INIT_ONLY = ['--init-only', '--conntrack-max-per-core=0'];

let api: ApiServer;
before(async () => {
  api = await startApiServer({ serviceCIDRs: ['10.96.0.0/16'] });
  api.apply(NODE);
  api.apply({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'shop', namespace: 'default' },
    spec: { clusterIP: '10.96.7.7', clusterIPs: ['10.96.7.7'], ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }] },
  });
});
after(() => api.close());

async function holds(listing: readonly string[], agent: RunningAgent): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    if (execFileSync(listing[0]!, listing.slice(1), { encoding: 'utf8' }).includes('10.96.7.7')) return;
    await systemClock.wait(200);
  }
  assert.fail(`the kernel does not hold the service\n${agent.log()}`);
}

test('without its settings done before, the agent still serves, and names the cost', { timeout: 60_000 }, async () => {
  const agent = startAgent(api.url, ['--proxy-mode=iptables', '--conntrack-max-per-core=0'], CONFINED);
  try {
    await holds(['iptables-save'], agent);
    assert.match(agent.log(), /node ports on 127\.0\.0\.1 will not answer: .*route_localnet is 0, wanted is 1/);
    assert.match(agent.log(), /idle TCP connections are forgotten at the kernel's own time/);
  } finally {
    await agent.stop();
  }
});

for (const [mode, listing] of [
  ['iptables', ['iptables-save']],
  ['nftables', ['nft', 'list', 'ruleset']],
] as const) {
  test(`after --init-only, ${mode} mode needs no more than the overlay grants`, { timeout: 60_000 }, async () => {
    execFileSync('nft', ['flush', 'ruleset']);
    const init = startAgent(api.url, [`--proxy-mode=${mode}`, ...INIT_ONLY]);
    assert.equal(await init.exited, 0, init.log());
    await init.stop();
    const before = execFileSync(listing[0], listing.slice(1), { encoding: 'utf8' });
    assert.equal(before.includes('10.96.7.7'), false, 'init-only writes no rules');

    const agent = startAgent(api.url, [`--proxy-mode=${mode}`, '--conntrack-max-per-core=0'], CONFINED);
    try {
      await holds(listing, agent);
      assert.doesNotMatch(agent.log(), /^[WE].*(EPERM|EACCES|EROFS|not permitted|denied)/m);
    } finally {
      await agent.stop();
    }
  });
}
