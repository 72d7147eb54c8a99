// In: which sets have entries, and the rules of services.  Out: every iptables rule of IPVS mode, in upstream's order.
// Their number does not grow with the cluster, but for services with source ranges or external traffic policy Local.
import { sourceMatch } from '../iptables/rules.ts';
import type { IpvsFacts } from './facts.ts';
import { kernelName, SET_COMMENTS, type SetName } from './sets.ts';

export interface IpvsRules {
  readonly nat: readonly string[];
  readonly filter: readonly string[];
}

export interface RuleInputs {
  readonly hasEntries: (set: SetName) => boolean;
  readonly outFilter: readonly string[];
  readonly localClients: readonly string[];
}

export function ipvsRules(facts: IpvsFacts, inputs: RuleInputs): IpvsRules {
  const writer = new RuleWriter(facts, inputs);
  return { nat: writer.nat(), filter: writer.filter() };
}

class RuleWriter {
  readonly #facts: IpvsFacts;
  readonly #inputs: RuleInputs;
  readonly #mark: string;

  constructor(facts: IpvsFacts, inputs: RuleInputs) {
    this.#facts = facts;
    this.#inputs = inputs;
    this.#mark = `0x${facts.masqueradeMark.toString(16).padStart(8, '0')}`;
  }

  nat(): string[] {
    const { family, hasRandomFully } = this.#facts;
    const mark = this.#mark;
    return [
      `-A KUBE-SERVICES -s ${family === 'IPv4' ? '127.0.0.0/8' : '::1/128'} -j RETURN`,
      ...this.#localClients(),
      ...this.#ifAny('LOOP-BACK', `-A KUBE-POSTROUTING ${this.#commented('LOOP-BACK', 'dst,dst,src')} -j MASQUERADE`),
      ...this.#ifAny(
        'LOAD-BALANCER',
        `-A KUBE-SERVICES ${this.#commented('LOAD-BALANCER', 'dst,dst')} -j KUBE-LOAD-BALANCER`,
      ),
      ...this.#ifAny(
        'LOAD-BALANCER-LOCAL',
        `-A KUBE-LOAD-BALANCER ${this.#commented('LOAD-BALANCER-LOCAL', 'dst,dst')} -j RETURN`,
      ),
      ...this.#nodePorts('tcp', 'NODE-PORT-LOCAL-TCP', 'NODE-PORT-TCP', 'dst'),
      ...this.#nodePorts('udp', 'NODE-PORT-LOCAL-UDP', 'NODE-PORT-UDP', 'dst'),
      ...this.#nodePorts('sctp', 'NODE-PORT-LOCAL-SCTP-HASH', 'NODE-PORT-SCTP-HASH', 'dst,dst'),
      ...this.#ifAny('CLUSTER-IP', this.#clusterIp()),
      ...this.#ifAny(
        'EXTERNAL-IP',
        `-A KUBE-SERVICES ${this.#commented('EXTERNAL-IP', 'dst,dst')} -j KUBE-MARK-MASQ`,
        ...this.#acceptExternal('EXTERNAL-IP'),
      ),
      ...this.#ifAny('EXTERNAL-IP-LOCAL', ...this.#acceptExternal('EXTERNAL-IP-LOCAL')),
      '-A KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODE-PORT',
      '-A KUBE-LOAD-BALANCER -j KUBE-MARK-MASQ',
      ...this.#ifAny('CLUSTER-IP', `-A KUBE-SERVICES ${this.#match('CLUSTER-IP', 'dst,dst')} -j ACCEPT`),
      ...this.#ifAny('LOAD-BALANCER', `-A KUBE-SERVICES ${this.#match('LOAD-BALANCER', 'dst,dst')} -j ACCEPT`),
      `-A KUBE-POSTROUTING -m mark ! --mark ${mark}/${mark} -j RETURN`,
      `-A KUBE-POSTROUTING -j MARK --xor-mark ${mark}`,
      `-A KUBE-POSTROUTING -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE${hasRandomFully ? ' --random-fully' : ''}`,
      `-A KUBE-MARK-MASQ -j MARK --or-mark ${mark}`,
    ];
  }

  filter(): string[] {
    const mark = this.#mark;
    const returns = (['LOAD-BALANCER', 'CLUSTER-IP', 'EXTERNAL-IP', 'EXTERNAL-IP-LOCAL'] as const).map(
      (set) => `-A KUBE-IPVS-FILTER ${this.#match(set, 'dst,dst')} -j RETURN`,
    );
    const admit = (set: 'LOAD-BALANCER-SOURCE-CIDR' | 'LOAD-BALANCER-SOURCE-IP'): string[] =>
      this.#ifAny(set, `-A KUBE-SOURCE-RANGES-FIREWALL ${this.#commented(set, 'dst,dst,src')} -j RETURN`);
    return [
      ...this.#ifAny(
        'LOAD-BALANCER-FW',
        `-A KUBE-PROXY-FIREWALL ${this.#commented('LOAD-BALANCER-FW', 'dst,dst')} -j KUBE-SOURCE-RANGES-FIREWALL`,
      ),
      ...admit('LOAD-BALANCER-SOURCE-CIDR'),
      ...admit('LOAD-BALANCER-SOURCE-IP'),
      '-A KUBE-SOURCE-RANGES-FIREWALL -j DROP',
      ...this.#inputs.outFilter,
      `-A KUBE-FORWARD -m comment --comment "kubernetes forwarding rules" -m mark --mark ${mark}/${mark} -j ACCEPT`,
      '-A KUBE-FORWARD -m comment --comment "kubernetes forwarding conntrack rule" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT',
      `-A KUBE-NODE-PORT ${this.#commented('HEALTH-CHECK-NODE-PORT', 'dst')} -j ACCEPT`,
      ...returns,
      `-A KUBE-IPVS-FILTER ${this.#match('HEALTH-CHECK-NODE-PORT', 'dst')} -j RETURN`,
      // A program of the node that listens on all its addresses would answer on Services' addresses too.
      `-A KUBE-IPVS-FILTER -m conntrack --ctstate NEW ${this.#match('IPVS-IPS', 'dst')} -j REJECT`,
    ];
  }

  #localClients(): string[] {
    const { localClients } = this.#inputs;
    if (localClients.length === 0) return [];
    const pods = sourceMatch(this.#facts.detector, 'local');
    return [
      ...(pods === undefined ? [] : [`-A KUBE-SERVICES${pods} -j KUBE-LOCAL-CLIENTS`]),
      '-A KUBE-SERVICES -m addrtype --src-type LOCAL -j KUBE-LOCAL-CLIENTS',
      ...localClients,
    ];
  }

  /** Without a detector only the node's own packets are known to need it; their source became the cluster IP itself. */
  #clusterIp(): string {
    const { masqueradeAll, detector } = this.#facts;
    const notLocal = masqueradeAll ? '' : sourceMatch(detector, 'not-local');
    const match = this.#commented('CLUSTER-IP', notLocal === undefined ? 'src,dst' : 'dst,dst');
    return `-A KUBE-SERVICES ${match}${notLocal ?? ''} -j KUBE-MARK-MASQ`;
  }

  #nodePorts(protocol: string, local: SetName, all: SetName, directions: string): string[] {
    const rule = (set: SetName, target: string): string =>
      `-A KUBE-NODE-PORT -p ${protocol} ${this.#commented(set, directions)} -j ${target}`;
    return [...this.#ifAny(local, rule(local, 'RETURN')), ...this.#ifAny(all, rule(all, 'KUBE-MARK-MASQ'))];
  }

  /** Bridged packets of pods are left to the bridge, unless the address is this node's. */
  #acceptExternal(set: SetName): string[] {
    const match = `-A KUBE-SERVICES ${this.#commented(set, 'dst,dst')}`;
    return [
      `${match} -m physdev ! --physdev-is-in -m addrtype ! --src-type LOCAL -j ACCEPT`,
      `${match} -m addrtype --dst-type LOCAL -j ACCEPT`,
    ];
  }

  #ifAny(set: SetName, ...rules: string[]): string[] {
    return this.#inputs.hasEntries(set) ? rules : [];
  }

  #commented(set: SetName, directions: string): string {
    return `-m comment --comment "${SET_COMMENTS[set]}" ${this.#match(set, directions)}`;
  }

  #match(set: SetName, directions: string): string {
    return `-m set --match-set ${kernelName(set, this.#facts.family)} ${directions}`;
  }
}
