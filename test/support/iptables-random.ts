// A node that follows a random cluster sync by sync, beside what a node would hold that starts now.
import { type Family, familyOf } from '../../src/lib/ip.ts';
import type { NodeModel } from '../../src/model/model.ts';
import { type NodeIdentity, resolveNode } from '../../src/model/resolve.ts';
import { diff, type Held, type IptablesChange } from '../../src/modes/iptables/diff.ts';
import type { IptablesFacts } from '../../src/modes/iptables/facts.ts';
import { type IptablesPlan, plan } from '../../src/modes/iptables/plan.ts';
import { TestCluster } from './cluster.ts';
import type { Manifest } from './golden.ts';
import { defaultFacts } from './iptables-node.ts';
import type { RandomStep } from './random-cluster.ts';

const IDENTITY: NodeIdentity = {
  nodeName: 'n1',
  nodeIPs: { IPv4: '192.168.50.1', IPv6: 'fd00:50::1' },
  allowsExternalIPs: true,
};

export class FollowingNode {
  readonly #family: Family;
  readonly #cluster = new TestCluster();
  readonly #manifests = new Map<string, Manifest>();
  #facts: IptablesFacts;
  #model: NodeModel | undefined;
  #plan: IptablesPlan | undefined;

  constructor(family: Family) {
    this.#family = family;
    this.#facts = defaultFacts(family);
  }

  /** `read`: what the kernel holds, asked where this node does not know. */
  async step(step: RandomStep, read: () => Promise<Held>): Promise<IptablesChange> {
    this.#cluster.delete(...step.delete).apply(...step.apply);
    for (const manifest of step.delete) this.#manifests.delete(keyOf(manifest));
    for (const manifest of step.apply) this.#manifests.set(keyOf(manifest), manifest);
    const ips = step.nodePortIps?.filter((ip) => familyOf(ip) === this.#family);
    this.#facts = { ...this.#facts, nodePortAddresses: ips ? { kind: 'some', ips } : { kind: 'all' } };

    const before = this.#plan;
    this.#model = resolveNode(this.#cluster.tracker.take(this.#family), IDENTITY, this.#model);
    this.#plan = plan(this.#model, this.#facts, before);
    return diff(before === undefined || step.forgets ? await read() : before, this.#plan);
  }

  /** The plan of a node that sees the cluster for the first time. */
  freshPlan(): IptablesPlan {
    const cluster = new TestCluster().apply(...this.#manifests.values());
    return plan(resolveNode(cluster.tracker.take(this.#family), IDENTITY), this.#facts);
  }

  get plan(): IptablesPlan {
    return this.#plan!;
  }
}

function keyOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}
