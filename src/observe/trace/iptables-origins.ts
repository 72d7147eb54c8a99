// In: a NodeModel.  Out: for every rule of iptables mode the objects and fields it comes from, told from chain names and matches,
// so that the answer is the same for planned rules and for what a kernel prints.
import { assertNever } from '../../lib/assert.ts';
import type { Backend, Frontend, NodeModel, ServicePort } from '../../model/model.ts';
import { JUMPS } from '../../modes/iptables/jumps.ts';
import { endpointChain, isServiceChain, serviceChains } from '../../modes/iptables/names.ts';
import { AddressBook, type FrontendOf } from './frontends.ts';
import { type Origin, type Origins, portField, serviceOf } from './origin.ts';
import type { Hop } from './packet.ts';
import type { Rule } from './ruleset.ts';

type Role =
  | { readonly kind: 'cluster' | 'local' | 'external' | 'firewall'; readonly port: ServicePort }
  | { readonly kind: 'endpoint'; readonly port: ServicePort; readonly backend: Backend };

export class IptablesOrigins implements Origins {
  readonly #book: AddressBook;
  readonly #roles = new Map<string, Role>();

  constructor(model: NodeModel) {
    this.#book = new AddressBook(model);
    for (const port of this.#book.ports) {
      for (const [kind, chain] of Object.entries(serviceChains(port)))
        this.#roles.set(chain, { kind: kind as keyof ReturnType<typeof serviceChains>, port });
      for (const backend of port.backends.reachable)
        this.#roles.set(endpointChain(port, backend.address), { kind: 'endpoint', port, backend });
    }
  }

  isOurs({ chain, did }: Hop): boolean {
    const isJump = did.kind === 'jump' || did.kind === 'goto';
    return isOurChain(chain.name) || (isJump && isOurChain(did.chain));
  }

  of(hop: Hop): readonly Origin[] {
    const { chain, rule } = hop;
    if (!rule || !this.isOurs(hop)) return [];
    const role = this.#roles.get(chain.name);
    if (role) return this.#inServiceChain(role, hop);
    const frontend = frontendOfRule(rule, this.#book);
    if (frontend) return [dispatchOrigin(frontend, chain.name)];
    const meaning = FIXED[chain.name];
    return meaning ? [meaning] : [];
  }

  #inServiceChain(role: Role, { did }: Hop): readonly Origin[] {
    const marks = did.kind === 'jump' && did.chain === 'KUBE-MARK-MASQ';
    switch (role.kind) {
      case 'endpoint':
        return [marks ? hairpinOrigin(role) : endpointOrigin(role.port, role.backend)];
      case 'cluster':
      case 'local': {
        if (marks) return [MASQUERADE_CLUSTER_IP];
        const target = did.kind === 'jump' ? this.#roles.get(did.chain) : undefined;
        return target?.kind === 'endpoint' ? [endpointOrigin(target.port, target.backend)] : [];
      }
      case 'external':
        return [externalOrigin(role.port, marks)];
      case 'firewall':
        return [
          {
            object: serviceOf(role.port),
            fields: ['spec.loadBalancerSourceRanges'],
            meaning: 'this source may use the load-balancer address',
          },
        ];
      default:
        return assertNever(role);
    }
  }
}

/** The frontend that a rule's matches name. */
export function frontendOfRule(rule: Rule, book: AddressBook): FrontendOf | undefined {
  const protocol = rule.matches.find((match) => match.kind === 'protocol')?.protocol;
  const ports = rule.matches.find((match) => match.kind === 'ports' && match.field === 'dst');
  const network = rule.matches.find((match) => match.kind === 'network' && match.field === 'dst' && !match.not);
  if (protocol === undefined || ports?.kind !== 'ports') return undefined;
  const cidr = network?.kind === 'network' ? network.cidr : undefined;
  const ip = cidr === '127.0.0.0/8' ? undefined : cidr?.slice(0, cidr.indexOf('/'));
  return book.frontend(ip, protocol, ports.ranges[0]![0]);
}

const FIXED_CHAINS = new Set(JUMPS.map(({ to }) => to).concat('KUBE-MARK-MASQ', 'KUBE-PROXY-CANARY'));

export function isOurChain(name: string): boolean {
  return FIXED_CHAINS.has(name) || isServiceChain(name);
}

function dispatchOrigin({ port, frontend }: FrontendOf, chain: string): Origin {
  const object = serviceOf(port);
  const { fields, name } = frontendFields(port, frontend);
  if (chain === 'KUBE-PROXY-FIREWALL') return guardOrigin(port, fields);
  const refused = unavailability(port, frontend.kind === 'cluster-ip' ? 'internal' : 'external');
  if (refused) return { object, fields: [...fields, ...refused.fields], meaning: refused.meaning };
  return { object, fields, meaning: `${name} of ${port.displayName}` };
}

export function guardOrigin(port: ServicePort, fields: readonly string[]): Origin {
  const meaning = `only ${port.sourceRanges.join(', ')} may use this address`;
  return { object: serviceOf(port), fields: [...fields, 'spec.loadBalancerSourceRanges'], meaning };
}

export function frontendFields(
  port: ServicePort,
  { kind }: Frontend,
): { readonly fields: readonly string[]; readonly name: string } {
  switch (kind) {
    case 'cluster-ip':
      return { fields: ['spec.clusterIP', portField(port, 'port')], name: 'cluster IP' };
    case 'external-ip':
      return { fields: ['spec.externalIPs', portField(port, 'port')], name: 'external IP' };
    case 'load-balancer-ip':
      return { fields: ['status.loadBalancer.ingress', portField(port, 'port')], name: 'load-balancer IP' };
    case 'node-port':
      return { fields: [portField(port, 'nodePort')], name: 'node port' };
    default:
      return assertNever(kind);
  }
}

/** Why nobody answers; undefined if somebody does. */
export function unavailability(
  port: ServicePort,
  side: 'internal' | 'external',
): Pick<Origin, 'fields' | 'meaning'> | undefined {
  const { verdict } = port[side];
  if (verdict === 'balance') return undefined;
  if (verdict === 'reject') return { fields: [], meaning: `${port.displayName} has no endpoints${leftOutText(port)}` };
  return {
    fields: [`spec.${side}TrafficPolicy`],
    meaning: `${port.displayName} has no endpoint on this node, and ${side}TrafficPolicy is Local${leftOutText(port)}`,
  };
}

/** ` (2 not ready, 1 on other nodes)` */
function leftOutText({ leftOut, backends }: ServicePort): string {
  const elsewhere = backends.cluster.filter(({ isLocal }) => !isLocal).length;
  const counts = new Map<string, number>(elsewhere === 0 ? [] : [['on other nodes', elsewhere]]);
  for (const { reason } of leftOut) {
    const words = reason === 'not-local' ? 'on other nodes' : reason.replace('-', ' ');
    counts.set(words, (counts.get(words) ?? 0) + 1);
  }
  return counts.size === 0 ? '' : ` (${[...counts].map(([words, n]) => `${n} ${words}`).join(', ')})`;
}

export function endpointOrigin(port: ServicePort, backend: Backend): Origin {
  const target = backend.target ? `, ${backend.target}` : '';
  return {
    object: `EndpointSlice ${port.namespace}/${backend.slice}`,
    fields: ['endpoints[].addresses', 'endpoints[].conditions', `ports[${port.portName}].port`],
    meaning: `endpoint ${backend.address} of ${port.displayName}${target}`,
  };
}

function hairpinOrigin({ port, backend }: { readonly port: ServicePort; readonly backend: Backend }): Origin {
  return {
    ...endpointOrigin(port, backend),
    meaning: 'an endpoint that reaches itself must not see its own address, so it sees the node’s',
  };
}

function externalOrigin(port: ServicePort, marks: boolean): Origin {
  const origin = { object: serviceOf(port), fields: ['spec.externalTrafficPolicy'] };
  if (port.external.over === 'cluster')
    return {
      ...origin,
      meaning: marks
        ? 'externalTrafficPolicy is Cluster: answers must come back through this node, so endpoints see its address'
        : 'externalTrafficPolicy is Cluster: every endpoint may answer',
    };
  return {
    ...origin,
    meaning: marks
      ? 'this node’s own traffic may go to other nodes, so endpoints there see this node’s address'
      : 'externalTrafficPolicy is Local: pods and this node reach every endpoint, others only those on this node',
  };
}

const CONFIGURATION = 'KubeProxyConfiguration';
export const MASQUERADE_CLUSTER_IP: Origin = {
  object: CONFIGURATION,
  fields: ['detectLocalMode', 'clusterCIDR', 'masqueradeAll'],
  meaning: 'a client that is no pod: answers must come back through this node, so endpoints see its address',
};
/** The rule that marks a packet for masquerading. */
export const MARKED: Origin = {
  object: CONFIGURATION,
  fields: ['iptables.masqueradeBit'],
  meaning: 'marked to get this node’s address as source',
};

const FIXED: Readonly<Record<string, Origin>> = {
  'KUBE-SERVICES': {
    object: CONFIGURATION,
    fields: ['nodePortAddresses'],
    meaning: 'an address of this node, so perhaps a node port',
  },
  'KUBE-MARK-MASQ': MARKED,
  'KUBE-POSTROUTING': {
    object: CONFIGURATION,
    fields: ['iptables.masqueradeBit'],
    meaning: 'what is marked gets this node’s address as source',
  },
  'KUBE-FORWARD': {
    object: CONFIGURATION,
    fields: ['conntrack.tcpBeLiberal'],
    meaning: 'forwarding of service traffic',
  },
  'KUBE-FIREWALL': {
    object: CONFIGURATION,
    fields: ['iptables.localhostNodePorts'],
    meaning: 'the network must not reach 127.0.0.0/8',
  },
};
