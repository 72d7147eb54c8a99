// The network that IPVS tests ask, with IPVS mode at work in its node.
import { golden as goldenTopology } from '../../../src/lab/network/golden.ts';
import { World } from '../../../src/lab/network/world.ts';
import type { Family } from '../../../src/lib/ip.ts';
import type { IpvsFacts } from '../../../src/modes/ipvs/facts.ts';
import { TestCluster } from '../../support/cluster.ts';
import { GOLDEN_BASE, GOLDEN_NODES, type GoldenCase } from '../../support/golden.ts';
import { ANCHORS } from './anchors.ts';
import { IpvsHost, IpvsNode } from './node.ts';

export interface Bench {
  readonly world: World;
  readonly cluster: TestCluster;
  readonly host: IpvsHost;
  readonly node: IpvsNode;
  close(): Promise<void>;
}

export async function openBench(): Promise<Bench> {
  const world = new World();
  const cluster = new TestCluster().apply(...GOLDEN_NODES, ...GOLDEN_BASE, ...ANCHORS);
  await world.add(goldenTopology);
  const host = await IpvsHost.open(world, 'n1');
  host.tune(false);
  const node = new IpvsNode(host, cluster.tracker, (family) => facts({}, family));
  const close = async (): Promise<void> => {
    host.close();
    for (const { name } of goldenTopology.hosts) await world.remove(name);
  };
  return { world, cluster, host, node, close };
}

const NODE_ADDRESSES: Readonly<Record<Family, readonly string[]>> = {
  IPv4: ['10.60.0.1', '192.168.50.1'],
  IPv6: ['fd00:50::1'],
};

export function facts({ config }: Pick<GoldenCase, 'config'>, family: Family): IpvsFacts {
  const clusterCidr = family === 'IPv4' ? '10.244.0.0/16' : 'fd00:10:244::/48';
  const nodeCidr = family === 'IPv4' ? '10.244.1.0/24' : 'fd00:10:244:1::/64';
  return {
    family,
    nodeName: 'n1',
    scheduler: 'rr',
    masqueradeMark: 1 << 14,
    masqueradeAll: config !== undefined && 'iptables' in config,
    detector: { kind: 'source', cidr: config?.detectLocalMode === 'NodeCIDR' ? nodeCidr : clusterCidr },
    hasRandomFully: true,
    excludeCIDRs: [],
    nodeAddresses: NODE_ADDRESSES[family],
    nodePortAddresses: NODE_ADDRESSES[family],
  };
}
