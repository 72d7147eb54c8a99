// In: targets, and one tracked flow at a time: a UDP one, or a TCP one that nobody has answered.  Out: whether the flow is stale,
// that is, leads where its address no longer leads. A packet that is sent again goes the way of its flow, however wrong. Deleting a flow is safe in itself: the next packet is looked at afresh. What must not happen is that flows which are not
// ours are deleted over and over, so beyond the addresses we serve now only translated flows are ever touched.
import type { Flow } from '../kernel/conntrack.ts';
import { cidrContains, hostPort } from '../lib/ip.ts';
import type { FlowTarget, FlowTargets } from './targets.ts';

/**
 * A flow is stale if its destination
 * - is an address of a service, and who answers is not one of the endpoints that serve it. That takes in flows which went
 *   nowhere because they began before there was a rule. Without any serving endpoint only translated flows count;
 * - is a node port on an address of this node, likewise;
 * - was an address of a service until the last clean-up, and it leads to an endpoint of that time;
 * - is in the cluster's range of service addresses but belongs to no service, and it was translated: it is left from a service
 *   that was deleted while nobody looked. Only kube-proxies translate those addresses.
 */
export function staleFlowTest(targets: FlowTargets, nodeAddresses: ReadonlySet<string>): (flow: Flow) => boolean {
  const current = indexed([...targets.services.values()].flat());
  const retired = indexed(targets.retired);

  return (flow) => {
    const { original, reply } = flow;
    const { destination, destinationPort } = original;
    const answering = hostPort(reply.source, reply.sourcePort);
    const lookUp = (index: Index): ReadonlySet<string> | undefined =>
      index.addresses.get(hostPort(destination, destinationPort)) ??
      (nodeAddresses.has(destination) ? index.nodePorts.get(destinationPort) : undefined);

    const serving = lookUp(current);
    if (serving) return serving.size > 0 ? !serving.has(answering) : isTranslated(flow);
    if (!isTranslated(flow)) return false;
    return lookUp(retired)?.has(answering) || targets.serviceCIDRs.some((cidr) => cidrContains(cidr, destination));
  };
}

function isTranslated({ original, reply }: Flow): boolean {
  return reply.source !== original.destination || reply.sourcePort !== original.destinationPort;
}

interface Index {
  readonly addresses: ReadonlyMap<string, ReadonlySet<string>>;
  readonly nodePorts: ReadonlyMap<number, ReadonlySet<string>>;
}

/** Where two services claim one address, the endpoints of both are right. */
function indexed(targets: readonly FlowTarget[]): Index {
  const addresses = new Map<string, ReadonlySet<string>>();
  const nodePorts = new Map<number, ReadonlySet<string>>();
  for (const { ip, port, serving } of targets) {
    if (ip === undefined) add(nodePorts, port, serving);
    else add(addresses, hostPort(ip, port), serving);
  }
  return { addresses, nodePorts };
}

function add<K>(index: Map<K, ReadonlySet<string>>, key: K, serving: ReadonlySet<string>): void {
  const others = index.get(key);
  index.set(key, others ? new Set([...others, ...serving]) : serving);
}
