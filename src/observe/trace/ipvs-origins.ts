// In: a NodeModel.  Out: for every hop through IPVS mode the objects and fields it comes from. Its rules ask sets and are the same for
// all services, so the answer lies in which set was asked, where the packet was sent and what it became.
import { hostPort } from '../../lib/ip.ts';
import type { NodeModel } from '../../model/model.ts';
import { CHAINS, LOCAL_CLIENTS_CHAIN } from '../../modes/ipvs/chains.ts';
import { kernelName, SET_NAMES, type SetName } from '../../modes/ipvs/sets.ts';
import { AddressBook, type FrontendOf } from './frontends.ts';
import {
  endpointOrigin,
  frontendFields,
  guardOrigin,
  MARKED,
  MASQUERADE_CLUSTER_IP,
  unavailability,
} from './iptables-origins.ts';
import { type Origin, type Origins, serviceOf } from './origin.ts';
import type { Hop } from './packet.ts';
import type { Rule } from './ruleset.ts';

export class IpvsOrigins implements Origins {
  readonly #book: AddressBook;
  readonly #sets: ReadonlyMap<string, SetName>;

  constructor(model: NodeModel) {
    this.#book = new AddressBook(model);
    this.#sets = new Map(SET_NAMES.map((name) => [kernelName(name, model.family), name]));
  }

  isOurs(hop: Hop): boolean {
    const { chain, did } = hop;
    if (chain.origin === 'ip_vs') return this.#asked(hop) !== undefined;
    const isJump = did.kind === 'jump' || did.kind === 'goto';
    return isIpvsChain(chain.name) || (isJump && isIpvsChain(did.chain));
  }

  of(hop: Hop): readonly Origin[] {
    const { chain, rule } = hop;
    if (!rule || !this.isOurs(hop)) return [];
    const asked = this.#asked(hop);
    if (chain.origin === 'ip_vs') return asked ? this.#atVirtualServer(hop, asked) : [];
    if (chain.base) return [];
    if (chain.name === LOCAL_CLIENTS_CHAIN) return asked ? [localClientsOrigin(asked)] : [];
    const fixed = FIXED[chain.name];
    if (fixed) return [fixed];
    if (chain.name === 'KUBE-SOURCE-RANGES-FIREWALL' && asked) return [guardOrigin(asked.port, [])];
    const set = this.#setOf(rule);
    return set && asked ? [setOrigin(set, asked, hop)] : [];
  }

  #asked({ packet }: Hop): FrontendOf | undefined {
    return packet && this.#book.asked(packet.originalDst, packet.protocol, packet.originalDstPort);
  }

  #atVirtualServer({ did }: Hop, { port, frontend }: FrontendOf): readonly Origin[] {
    if (did.kind === 'send-on') {
      const backend = this.#book.backend(hostPort(did.ip, did.port), port);
      return [serviceOrigin({ port, frontend }), ...(backend ? [endpointOrigin(port, backend)] : [])];
    }
    const refused = unavailability(port, frontend.kind === 'cluster-ip' ? 'internal' : 'external');
    return refused ? [{ object: serviceOf(port), ...refused }] : [];
  }

  #setOf({ matches }: Rule): SetName | undefined {
    const match = matches.find(({ kind }) => kind === 'ip-set');
    return match?.kind === 'ip-set' ? this.#sets.get(match.set) : undefined;
  }
}

const OWN = new Set<string>([...CHAINS.nat, ...CHAINS.filter, LOCAL_CLIENTS_CHAIN]);

export function isIpvsChain(name: string): boolean {
  return OWN.has(name);
}

function localClientsOrigin({ port }: FrontendOf): Origin {
  return {
    object: serviceOf(port),
    fields: ['spec.externalTrafficPolicy'],
    meaning:
      'externalTrafficPolicy is Local: pods and this node reach every endpoint, so they are led to the cluster IP',
  };
}

function setOrigin(set: SetName, asked: FrontendOf, { did }: Hop): Origin {
  switch (set) {
    case 'CLUSTER-IP':
      return did.kind === 'jump' ? MASQUERADE_CLUSTER_IP : serviceOrigin(asked);
    case 'LOAD-BALANCER-FW':
    case 'LOAD-BALANCER-SOURCE-CIDR':
    case 'LOAD-BALANCER-SOURCE-IP':
      return guardOrigin(asked.port, frontendFields(asked.port, asked.frontend).fields);
    default:
      return serviceOrigin(asked);
  }
}

function serviceOrigin({ port, frontend }: FrontendOf): Origin {
  const { fields, name } = frontendFields(port, frontend);
  return { object: serviceOf(port), fields, meaning: `${name} of ${port.displayName}` };
}

const CONFIGURATION = 'KubeProxyConfiguration';

const FIXED: Readonly<Record<string, Origin>> = {
  'KUBE-MARK-MASQ': MARKED,
  'KUBE-POSTROUTING': {
    object: CONFIGURATION,
    fields: ['iptables.masqueradeBit'],
    meaning: 'what is marked, or comes back to its sender, gets this node’s address as source',
  },
  'KUBE-FORWARD': { object: CONFIGURATION, fields: ['mode'], meaning: 'forwarding of service traffic' },
};
