// The part of modes.ts that needs IPVS, for the test machine: no proxy, iptables mode and IPVS mode under the same emulation.
// Only the ratios mean something.
import { golden as goldenTopology } from '../src/lab/network/golden.ts';
import type { Network } from '../src/lab/network/network.ts';
import { World } from '../src/lab/network/world.ts';
import { sync } from '../src/pipeline.ts';
import { TestCluster } from '../test/support/cluster.ts';
import { GOLDEN_NODES } from '../test/support/golden.ts';
import { iptablesNode } from '../test/support/iptables-node.ts';
import { facts } from '../test/vm/inside/bench.ts';
import { IpvsHost, IpvsNode } from '../test/vm/inside/node.ts';
import { ASKED, POD, PORTS, services } from './modes-services.ts';
import { count, duration, printTable, ratio } from './support/table.ts';

const EXCHANGES = 300;
const SIZES = [10, 5000];

const world = new World();
await world.add(goldenTopology);
const host = await IpvsHost.open(world, 'n1');
const rows: { name: string; exchanges: number; syncMs: number }[] = [];
const few = new TestCluster().apply(...GOLDEN_NODES, ...services(10));
const network = {
  exec: (name: string, argv: readonly string[], options = {}) => world.exec({ host: name, argv, ...options }),
};
// With many Services iptables-restore alone would take minutes here; it is measured without emulation.
const iptablesMs = await timed(() => sync(iptablesNode(network as unknown as Network, few.tracker, 'IPv4')));
rows.push({ name: 'iptables, 10', exchanges: await rate(ASKED, 80), syncMs: iptablesMs });
await host.run('nft', 'flush', 'ruleset');
for (const size of SIZES) {
  const { tracker } = new TestCluster().apply(...GOLDEN_NODES, ...services(size));
  const node = new IpvsNode(host, tracker, (family) => facts({}, family));
  const syncMs = await timed(() => node.sync());
  rows.push({ name: `ipvs, ${size}`, exchanges: await rate(ASKED, 80), syncMs });
  await host.cleanUp();
}
// Last, when everything else is warm too.
rows.unshift({ name: 'no proxy', exchanges: await rate(POD, PORTS.answer), syncMs: 0 });
printTable(
  `In the test machine, an emulated one: the first sync, and ${EXCHANGES} exchanges`,
  rows.map(({ name, exchanges, syncMs }) => ({
    mode: name,
    'first sync': syncMs === 0 ? '' : duration(syncMs),
    'exchanges/s': count(exchanges),
    'of no proxy': ratio(exchanges, rows[0]!.exchanges),
  })),
);
process.exit();

/** The first packets of an emulated machine may take longer than a client waits. */
async function rate(ip: string, port: number): Promise<number> {
  for (let i = 0; i < 3; i++) await world.probePackets({ from: 'x', proto: 'tcp', to: `${ip}:${port}`, count: 30 });
  const startedAt = performance.now();
  const { failed } = await world.probePackets({ from: 'x', proto: 'tcp', to: `${ip}:${port}`, count: EXCHANGES });
  if (failed) throw new Error(`${ip}:${port} failed: ${failed.join()}`);
  return EXCHANGES / ((performance.now() - startedAt) / 1000);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
