// A process in a host of a test network that runs the pipeline in nftables mode there. It is told what happens in the cluster over
// a connection, a JSON document on each line, and answers each when the kernel holds it and stale flows are gone.
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { staleFlowTest } from '../../src/flows/stale.ts';
import { type FlowTargets, flowTargets, withoutRetired } from '../../src/flows/targets.ts';
import { Addresses } from '../../src/kernel/addresses.ts';
import { Conntrack } from '../../src/kernel/conntrack.ts';
import { Nftables } from '../../src/kernel/nftables.ts';
import { FAMILIES, type Family } from '../../src/lib/ip.ts';
import type { NftablesFacts } from '../../src/modes/nftables/facts.ts';
import { sync } from '../../src/pipeline.ts';
import { TestCluster } from './cluster.ts';
import type { Manifest } from './golden.ts';
import { type NftablesNode, nftablesNode } from './nftables-node.ts';

export interface HostCommand {
  /** Begins with an empty cluster, as a process that has just started. What the kernel holds stays. */
  readonly restarts?: boolean;
  readonly facts?: Partial<Record<Family, Partial<NftablesFacts>>>;
  readonly delete?: readonly Manifest[];
  readonly apply?: readonly Manifest[];
}

export interface HostAnswer {
  readonly error?: string;
}

/** As in the agent. */
const LINGER_MS = 1000;

/** What runs in the host. */
async function main(port: number): Promise<void> {
  const nftables = new Nftables();
  const conntrack = new Conntrack();
  const addresses = new Addresses();
  const facts: Partial<Record<Family, Partial<NftablesFacts>>> = {};
  let cluster = new TestCluster();
  let nodes: NftablesNode[] = [];
  const targets: Partial<Record<Family, FlowTargets>> = {};

  const handle = async (command: HostCommand): Promise<void> => {
    Object.assign(facts, command.facts);
    if (command.restarts || nodes.length === 0) {
      cluster = new TestCluster();
      nodes = FAMILIES.map((family) =>
        nftablesNode(nftables, cluster.tracker, family, () => facts[family] ?? {}, LINGER_MS),
      );
    }
    cluster.delete(...(command.delete ?? [])).apply(...(command.apply ?? []));
    for (const node of nodes) {
      const { model, family } = await sync(node);
      await node.drivers.sweep();
      targets[family] = flowTargets(model, targets[family]);
      if (!model.changedUdp) continue;
      await conntrack.deleteFlows(family, 'udp', staleFlowTest(targets[family], new Set(await addresses.list(family))));
      targets[family] = withoutRetired(targets[family]);
    }
  };

  const server = createServer((socket) => {
    createInterface(socket).on('line', async (line) => {
      const answer = await handle(JSON.parse(line) as HostCommand).then(
        () => ({}),
        (error: unknown) => ({ error: String(error) }),
      );
      socket.write(`${JSON.stringify(answer)}\n`);
    });
  });
  server.listen(port, '127.0.0.1', () => console.log('listening'));
}

if (import.meta.main) await main(Number(process.argv[2]));
