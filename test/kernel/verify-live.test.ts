// The commands on a node, as somebody runs them there: they read the kernel of the host they run in.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { USERSPACE_GATE } from '../../src/config/configuration.ts';
import { golden } from '../../src/lab/network/golden.ts';
import { Network } from '../../src/lab/network/network.ts';
import type { ServiceExplanation } from '../../src/observe/trace/explain.ts';
import type { TraceReport } from '../../src/observe/trace/report.ts';
import { sync } from '../../src/pipeline.ts';
import { UserspaceNode } from '../packets/userspace-node.ts';
import { TestCluster } from '../support/cluster.ts';
import { GOLDEN_BASE, GOLDEN_CONFIG, GOLDEN_NODES } from '../support/golden.ts';
import { iptablesNode } from '../support/iptables-node.ts';
import { NftablesRemote } from '../support/nftables-remote.ts';
import { FAULTY_CLUSTER } from '../support/verify.ts';

/** Userspace mode must be asked for. */
const GATES = { iptables: {}, nftables: {}, userspace: { [USERSPACE_GATE]: true } };
const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const MANIFESTS = [...GOLDEN_NODES, ...GOLDEN_BASE, ...FAULTY_CLUSTER];

for (const mode of ['iptables', 'nftables', 'userspace'] as const) {
  describe(`on a node in ${mode} mode`, () => {
    let network: Network;
    let remote: NftablesRemote | undefined;
    let relays: UserspaceNode | undefined;
    const folder = mkdtempSync(join(tmpdir(), 'portolan-live-'));

    before(async () => {
      network = await Network.open(golden);
      writeFileSync(join(folder, 'cluster.json'), JSON.stringify({ kind: 'List', items: MANIFESTS }));
      writeFileSync(
        join(folder, 'config.json'),
        JSON.stringify({ ...GOLDEN_CONFIG, mode, nodePortAddresses: ['primary'], featureGates: GATES[mode] }),
      );
      if (mode === 'userspace') {
        relays = await UserspaceNode.start(network);
        await relays.sync(MANIFESTS);
        return;
      }
      if (mode === 'nftables') {
        remote = await NftablesRemote.start(network, 'n1');
        await remote.tell({ apply: MANIFESTS });
        return;
      }
      const { tracker } = new TestCluster().apply(...MANIFESTS);
      const nodePortAddresses = { kind: 'some', ips: ['192.168.50.1'] } as const;
      await sync(iptablesNode(network, tracker, 'IPv4', { facts: { nodePortAddresses, localhostNodePorts: false } }));
    });
    after(async () => {
      await remote?.stop();
      await relays?.close();
      await network.close();
      rmSync(folder, { recursive: true });
    });

    /** Runs in n1, on whose kernel the answer depends. */
    const portolan = async (command: string, ...args: readonly string[]) => {
      const objects = [
        '--config',
        join(folder, 'config.json'),
        '-f',
        join(folder, 'cluster.json'),
        '--live',
        '-o',
        'json',
      ];
      const argv = [process.execPath, '--disable-warning=ExperimentalWarning', MAIN, command, ...args, ...objects];
      const { status, stdout, stderr } = await network.exec('n1', argv);
      assert.match(stdout, /^[[{]/, stderr);
      return { status, answer: JSON.parse(stdout) as unknown };
    };

    test('verify agrees, and ends with 0', async () => {
      const { status, answer } = await portolan('verify', '--family', 'ipv4');
      assert.equal(status, 0, JSON.stringify(answer, undefined, 1));
    });

    test('trace walks the rules that are there', async () => {
      const { answer } = await portolan('trace', '--from', 'outside', '--to', 'demo/plain');
      const { rules, outcomes, sentence } = answer as TraceReport;
      assert.equal(rules, 'in the kernel');
      assert.deepEqual(
        outcomes.map(({ share, destination }) => [share, destination]),
        ['10.244.1.11', '10.244.2.11', '10.244.2.12'].map((ip) => ['1/3', `${ip}:8080`]),
      );
      assert.match(sentence, /a third go to 10\.244\.1\.11:8080.*the endpoints see the node’s address/i);
      assert.ok(outcomes[0]!.hops.some(({ origins }) => origins.some(({ object }) => object === 'Service demo/plain')));
      assert.ok(
        outcomes[0]!.hops.some(({ origins }) => origins.some(({ object }) => object === 'EndpointSlice demo/plain-1')),
      );
    });

    test('explain shows the rules, and counts connections and knows who is remembered where the kernel does', async () => {
      await network.probe({ from: 'a2', proto: 'tcp', to: '10.96.1.2:80', count: 5 });
      const { answer } = await portolan('explain', 'service', 'sticky');
      const [{ ports }] = answer as [ServiceExplanation];
      const [port] = ports;
      assert.ok(port!.rules.length > 0);
      if (mode === 'userspace') return; // its relays know, not the kernel
      assert.equal(port!.shares.reduce((sum, { connections }) => sum + connections, 0) > 0, true);
      assert.deepEqual(
        port!.remembered.map(({ client }) => client),
        ['10.244.1.12'],
      );
    });

    test('doctor finds that a Service has no endpoints', async () => {
      const { status, answer } = await portolan('doctor', 'demo/empty');
      const { firstProblem } = answer as { firstProblem: { question: string } };
      assert.equal(status, 1);
      assert.match(firstProblem.question, /EndpointSlices/);
    });

    test('a rule of somebody else makes verify and doctor end with 1 and name it', async () => {
      const drop = ['-p', 'tcp', '--dport', '8080', '-j', 'DROP'];
      const chain = mode === 'userspace' ? 'OUTPUT' : 'FORWARD'; // what a relay sends comes from the node
      await network.exec('n1', ['iptables', '-I', chain, ...drop]);
      try {
        const { status, answer } = await portolan('doctor', 'demo/plain');
        const { firstProblem } = answer as { firstProblem: { advice: string } };
        assert.equal(status, 1);
        assert.match(firstProblem.advice, /not the proxy’s.*--dport 8080 -j DROP/);
        assert.equal((await portolan('verify', '--family', 'ipv4')).status, 1);
      } finally {
        await network.exec('n1', ['iptables', '-D', chain, ...drop]);
      }
    });
  });
}
