// In: a NodeModel.  Out: for every rule of userspace mode, and for every relay, the objects and fields it comes from.
import { hostPort } from '../../lib/ip.ts';
import type { NodeModel, ServicePort } from '../../model/model.ts';
import { TABLE_CHAINS } from '../../modes/userspace/chains.ts';
import { CHAINS } from '../../modes/userspace/rules.ts';
import { AddressBook, type FrontendOf } from './frontends.ts';
import { endpointOrigin, frontendFields, frontendOfRule, unavailability } from './iptables-origins.ts';
import { type Origin, type Origins, serviceOf } from './origin.ts';
import type { Hop } from './packet.ts';

export class UserspaceOrigins implements Origins {
  readonly #book: AddressBook;

  constructor(model: NodeModel) {
    this.#book = new AddressBook(model);
  }

  isOurs({ chain, did }: Hop): boolean {
    const isJump = did.kind === 'jump' || did.kind === 'goto';
    return chain.origin === 'relay' || isUserspaceChain(chain.name) || (isJump && isUserspaceChain(did.chain));
  }

  of(hop: Hop): readonly Origin[] {
    const { chain, rule, packet } = hop;
    if (!rule || !this.isOurs(hop)) return [];
    const asked = packet && this.#book.asked(packet.originalDst, packet.protocol, packet.originalDstPort);
    if (chain.origin === 'relay') return asked ? this.#atRelay(hop, asked) : [];
    if (chain.name === CHAINS.nonLocal && !chain.base) return [NON_LOCAL];
    const found = frontendOfRule(rule, this.#book);
    return found ? [dispatchOrigin(found)] : [];
  }

  #atRelay({ did }: Hop, { port, frontend }: FrontendOf): readonly Origin[] {
    if (did.kind === 'connect') {
      const backend = this.#book.backend(hostPort(did.ip, did.port), port);
      return backend ? [endpointOrigin(port, backend)] : [];
    }
    const refused = unavailability(port, frontend.kind === 'cluster-ip' ? 'internal' : 'external');
    return refused ? [{ object: serviceOf(port), ...refused }] : [];
  }
}

const OWN = new Set<string>([...TABLE_CHAINS.nat, ...TABLE_CHAINS.filter]);

export function isUserspaceChain(name: string): boolean {
  return OWN.has(name);
}

function dispatchOrigin({ port, frontend }: FrontendOf): Origin {
  const { fields, name } = frontendFields(port, frontend);
  const guard = frontend.kind === 'load-balancer-ip' ? rangesOf(port) : undefined;
  return {
    object: serviceOf(port),
    fields: guard ? [...fields, 'spec.loadBalancerSourceRanges'] : fields,
    meaning: `${name} of ${port.displayName}${guard ?? ''}`,
  };
}

function rangesOf({ sourceRanges }: ServicePort): string | undefined {
  return sourceRanges.length === 0 ? undefined : `, which only ${sourceRanges.join(', ')} may use`;
}

const NON_LOCAL: Origin = {
  object: 'KubeProxyConfiguration',
  fields: ['mode'],
  meaning: 'what was led to a relay may pass',
};
