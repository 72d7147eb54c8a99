// What does a new connection cost through a Service, and does it depend on how many Services there are?
// A client outside asks a pod on another node through n1 of the test network: straight, and through a cluster IP in nftables and in
// iptables mode, with few Services and with many. Median time to connect, and connections per second one after another.
// Arguments: numbers of Services (10 10000).
import { fileURLToPath } from 'node:url';
import { golden as goldenTopology } from '../src/lab/network/golden.ts';
import { Network } from '../src/lab/network/network.ts';
import { FAMILIES } from '../src/lib/ip.ts';
import { sync } from '../src/pipeline.ts';
import { TestCluster } from '../test/support/cluster.ts';
import { GOLDEN_NODES, type Manifest } from '../test/support/golden.ts';
import { iptablesNode } from '../test/support/iptables-node.ts';
import { serviceManifest, sliceManifest } from '../test/support/manifests.ts';
import { nftablesFacts } from '../test/support/nftables-node.ts';
import { NftablesRemote } from '../test/support/nftables-remote.ts';

const CONNECTIONS = 3000;
const CLIENT = fileURLToPath(new URL('nftables-path-client.ts', import.meta.url));
const POD = '10.244.2.11';
// Not the first service and not the last, in whichever order they are looked through.
const ASKED = '10.99.5.0';

const sizes = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [10, 10_000];
const network = await Network.open(goldenTopology);
try {
  const rows: Record<string, Record<string, string | number>> = {};
  rows['no proxy'] = await ask(POD, 8080);
  for (const size of sizes) {
    const remote = await NftablesRemote.start(network, 'n1');
    const facts = Object.fromEntries(FAMILIES.map((family) => [family, nftablesFacts(family)]));
    await remote.tell({ restarts: true, facts, apply: [...GOLDEN_NODES, ...services(size)] });
    rows[`nftables, ${size} Services`] = await ask(ASKED, 80);
    await remote.stop();
    await network.exec('n1', ['nft', 'flush', 'ruleset']);
  }
  for (const size of sizes) {
    const cluster = new TestCluster().apply(...GOLDEN_NODES, ...services(size));
    await sync(iptablesNode(network, cluster.tracker, 'IPv4'));
    rows[`iptables, ${size} Services`] = await ask(ASKED, 80);
    await network.exec('n1', ['nft', 'flush', 'ruleset']);
  }
  console.table(rows);
} finally {
  await network.close();
}

async function ask(ip: string, port: number): Promise<Record<string, number>> {
  const { stdout, stderr, status } = await network.exec('x', [
    process.execPath,
    CLIENT,
    ip,
    String(port),
    String(CONNECTIONS),
  ]);
  if (status !== 0) throw new Error(stderr);
  const { medianUs, perSecond } = JSON.parse(stdout) as { medianUs: number; perSecond: number };
  return { 'connect, median us': Math.round(medianUs), 'connections per second': Math.round(perSecond) };
}

function services(count: number): Manifest[] {
  const others = Array.from({ length: count - 1 }, (_, i) => `10.${100 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`);
  const ips = [...others.slice(0, count >> 1), ASKED, ...others.slice(count >> 1)];
  const endpoints = [{ addresses: [POD], nodeName: 'n2' }];
  return ips.flatMap((clusterIP, i) => [
    serviceManifest(`team-${i % 100}/service-${i}`, { clusterIP }),
    sliceManifest(`team-${i % 100}/service-${i}`, endpoints),
  ]);
}
