// What does a Service cost its clients in each mode, with few Services and with many? A client outside asks a pod on another node
// through n1 of the test network: exchanges a second, each over a new connection, and megabytes a second over one.
// IPVS is measured where this kernel has it; else in the test machine, beside iptables mode, whose ratio makes it comparable.
// Arguments: numbers of Services (10 5000).
import { fileURLToPath } from 'node:url';
import { golden as goldenTopology } from '../src/lab/network/golden.ts';
import { Network } from '../src/lab/network/network.ts';
import { FAMILIES } from '../src/lib/ip.ts';
import { sync } from '../src/pipeline.ts';
import { UserspaceNode } from '../test/packets/userspace-node.ts';
import { TestCluster } from '../test/support/cluster.ts';
import { GOLDEN_NODES } from '../test/support/golden.ts';
import { iptablesNode } from '../test/support/iptables-node.ts';
import { nftablesFacts } from '../test/support/nftables-node.ts';
import { NftablesRemote } from '../test/support/nftables-remote.ts';
import { machine, runInMachine } from '../test/vm/machine.ts';
import { ASKED, POD, PORTS, services } from './modes-services.ts';
import { count, printTable, ratio } from './support/table.ts';

const EXCHANGES = 2000;
const BYTES = 512 << 20;
const program = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const CLIENT = program('modes-client.ts');
const SOURCE = program('../test/packets/userspace-load.ts');

interface Figures {
  readonly exchanges: number;
  readonly megabytes: number;
}

const sizes = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [10, 5000];
const network = await Network.open(goldenTopology);
const rows: [name: string, figures: Figures][] = [];
try {
  const source = await network.spawnIn('b1', [process.execPath, SOURCE, 'source', String(PORTS.source), String(BYTES)]);
  rows.push(['no proxy', await ask(POD, PORTS)]);
  for (const size of sizes) rows.push([`iptables, ${size}`, await withIptables(size)]);
  for (const size of sizes) rows.push([`nftables, ${size}`, await withNftables(size)]);
  for (const size of sizes) rows.push([`userspace, ${size}`, await withUserspace(size, 1)]);
  rows.push([`userspace in the agent's own thread, ${sizes[0]}`, await withUserspace(sizes[0]!, 0)]);
  await source.kill();
} finally {
  await network.close();
}
const [, baseline] = rows[0]!;
printTable(
  `Through one node, by mode and number of Services (${EXCHANGES} exchanges; ${BYTES >> 20} MB)`,
  rows.map(([name, { exchanges, megabytes }]) => ({
    mode: name,
    'exchanges/s': count(exchanges),
    'of no proxy': ratio(exchanges, baseline.exchanges),
    'MB/s': count(megabytes),
    ' of no proxy': ratio(megabytes, baseline.megabytes),
  })),
);

const emulated = machine();
if ('missing' in emulated) console.log(`\nIPVS is left out: ${emulated.missing}`);
else {
  const run = await runInMachine(emulated, [process.execPath, program('modes-ipvs.ts')], { timeoutMs: 600_000 });
  console.log(run.output);
}

async function withIptables(size: number): Promise<Figures> {
  const cluster = new TestCluster().apply(...GOLDEN_NODES, ...services(size));
  await sync(iptablesNode(network, cluster.tracker, 'IPv4'));
  const figures = await ask(ASKED, { answer: 80, source: 81 });
  await network.exec('n1', ['nft', 'flush', 'ruleset']);
  return figures;
}

async function withNftables(size: number): Promise<Figures> {
  const remote = await NftablesRemote.start(network, 'n1');
  const facts = Object.fromEntries(FAMILIES.map((family) => [family, nftablesFacts(family)]));
  await remote.tell({ restarts: true, facts, apply: [...GOLDEN_NODES, ...services(size)] });
  const figures = await ask(ASKED, { answer: 80, source: 81 });
  await remote.stop();
  await network.exec('n1', ['nft', 'flush', 'ruleset']);
  return figures;
}

async function withUserspace(size: number, threads: number): Promise<Figures> {
  const node = await UserspaceNode.start(network, { threads });
  await node.sync([...GOLDEN_NODES, ...services(size)]);
  const figures = await ask(ASKED, { answer: 80, source: 81 });
  await node.cleanUp();
  await node.close();
  return figures;
}

async function ask(ip: string, ports: typeof PORTS): Promise<Figures> {
  const run = async (...args: string[]): Promise<number> => {
    const { stdout, stderr, status } = await network.exec('x', [process.execPath, CLIENT, ...args]);
    if (status !== 0) throw new Error(stderr);
    return Number(stdout);
  };
  return {
    exchanges: await run('rate', ip, String(ports.answer), String(EXCHANGES)),
    megabytes: await run('fetch', ip, String(ports.source)),
  };
}
