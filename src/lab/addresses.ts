// The lab's addresses. In: a preset, or networks given by hand, and how many nodes. Out: who has which address. The presets
// are the networks of well-known courses, so that what they print can be seen here with the same digits.
import { cidrPrefixLength, type Family, familyOf, parseCidr } from '../lib/ip.ts';
import { addressAt } from './apiserver/allocations.ts';
import type { Cluster, Node } from './network/cluster.ts';

export interface Networks {
  readonly nodes: readonly string[];
  readonly pods: readonly string[];
  readonly services: readonly string[];
  /** The place of the first node in its network. */
  readonly firstNode: number;
}

interface Preset {
  readonly about: string;
  readonly IPv4: FamilyNetworks;
  readonly firstNode: number;
}

interface FamilyNetworks {
  readonly nodes: string;
  readonly pods: string;
  readonly services: string;
}

export const PRESETS: Readonly<Record<string, Preset>> = {
  kubeadm: {
    about: "kubeadm's usual ones",
    IPv4: { nodes: '192.168.50.0/24', pods: '10.244.0.0/16', services: '10.96.0.0/12' },
    firstNode: 10,
  },
  '198.19': {
    about: "the operator course's, where yaobank comes from",
    IPv4: { nodes: '198.19.0.0/24', pods: '198.19.16.0/20', services: '198.19.32.0/20' },
    firstNode: 1,
  },
  '10.48': {
    about: 'small ones, side by side',
    IPv4: { nodes: '10.0.0.0/24', pods: '10.48.0.0/16', services: '10.49.0.0/16' },
    firstNode: 10,
  },
};

const IPV6: FamilyNetworks = { nodes: 'fd00:50::/64', pods: 'fd00:10:244::/48', services: 'fd00:10:96::/112' };

export const CLIENT = 'client';
const CLIENT_PLACE = 100n;
const ROUTER_PLACE = 254n;
/** A cluster without IPv4 has a router all the same; nobody asks for this address. */
const IDLE_ROUTER = '192.0.0.8';
/** Nodes' places end below the client's. */
const MOST_NODES = 80;

/** The networks of each family, the primary one first. CIDRs given by hand take the place of the preset's. */
export function networksOf(
  presetName: string,
  families: readonly Family[],
  given: { readonly pods?: readonly string[]; readonly services?: readonly string[] },
): Networks {
  const preset = PRESETS[presetName];
  if (!preset) throw new RangeError(`no preset ${presetName}: there are ${Object.keys(PRESETS).join(', ')}`);
  const pick = (kind: keyof FamilyNetworks, byHand: readonly string[] = []) => {
    const own = byHand.map(checkedCidr);
    return families.map(
      (family) => own.find((cidr) => familyOf(cidr) === family) ?? (family === 'IPv4' ? preset.IPv4[kind] : IPV6[kind]),
    );
  };
  return {
    nodes: pick('nodes'),
    pods: pick('pods', given.pods),
    services: pick('services', given.services),
    firstNode: preset.firstNode,
  };
}

/** `control`, `node1`, `node2`, …, each with its own part of the pods' networks. */
export function clusterPlan(networks: Networks, count: number): Cluster {
  if (count < 1 || count > MOST_NODES) throw new RangeError(`a lab has 1 to ${MOST_NODES} nodes`);
  const nodes = Array.from(
    { length: count },
    (_, i): Node => ({
      name: i === 0 ? 'control' : `node${i}`,
      ips: networks.nodes.map((cidr) => addressAt(cidr, BigInt(networks.firstNode + i))),
      podCIDRs: networks.pods.map((cidr) => subnetOf(cidr, i)),
    }),
  );
  const ipv4Nodes = networks.nodes.find((cidr) => familyOf(cidr) === 'IPv4');
  return {
    nodes,
    client: { name: CLIENT, ips: networks.nodes.map((cidr) => addressAt(cidr, CLIENT_PLACE)) },
    router: ipv4Nodes ? addressAt(ipv4Nodes, ROUTER_PLACE) : IDLE_ROUTER,
    entry: (nodes[1] ?? nodes[0])!.name,
  };
}

/** A node's part: as kubeadm cuts it where there is room, else a sixteenth. */
function subnetOf(cidr: string, index: number): string {
  const [usual, bits] = familyOf(cidr) === 'IPv4' ? [24, 32] : [64, 128];
  const prefix = Math.max(usual, cidrPrefixLength(cidr) + 4);
  if (prefix > bits - 4) throw new RangeError(`${cidr} is too small for the pods of several nodes`);
  if (index >= 2 ** (prefix - cidrPrefixLength(cidr))) throw new RangeError(`${cidr} has no part for node ${index}`);
  return `${addressAt(cidr, BigInt(index) << BigInt(bits - prefix))}/${prefix}`;
}

function checkedCidr(text: string): string {
  const cidr = parseCidr(text);
  if (cidr === undefined) throw new RangeError(`${text} is not a network such as 10.244.0.0/16`);
  return cidr;
}
