// In: one service port.  Out: its rules, as text, in the order upstream writes them.
// Dispatch rules stand in chains shared by all services; the other chains are the service's own.
import { assertNever } from '../../lib/assert.ts';
import type { Backend, Frontend, ServicePort } from '../../model/model.ts';
import type { LocalDetector } from '../local-detector.ts';
import { type IptablesFacts, LOCALHOST_NODE_PORTS_COUNTER } from './facts.ts';
import { endpointChain, type ServiceChains, serviceChains } from './names.ts';

export interface PortRules {
  /** Rules in the filter table's shared chains. */
  readonly filter: readonly string[];
  /** Rules in the nat table's shared chains. */
  readonly natDispatch: readonly string[];
  /** The service's own chains, in the nat table. */
  readonly natChains: readonly string[];
  readonly natRules: readonly string[];
}

/** `terse`: leave out the comments of which there are many, as large clusters do. */
export function portRules(port: ServicePort, facts: IptablesFacts, terse: boolean): PortRules {
  const rules = new PortRuleWriter(port, facts, terse);
  return { filter: rules.filter(), natDispatch: rules.natDispatch(), ...rules.natOwn() };
}

class PortRuleWriter {
  readonly #port: ServicePort;
  readonly #facts: IptablesFacts;
  readonly #terse: boolean;
  readonly #chains: ServiceChains;
  readonly #protocol: string;
  readonly #usesFirewall: boolean;
  readonly #usesExternal: boolean;
  /** By address: a backend may stand in two lists, and its chain's name is costly. */
  readonly #endpointChains: ReadonlyMap<string, string>;

  constructor(port: ServicePort, facts: IptablesFacts, terse: boolean) {
    const protocol = port.protocol.toLowerCase();
    this.#port = port;
    this.#facts = facts;
    this.#terse = terse;
    this.#chains = serviceChains(port);
    this.#endpointChains = new Map(
      port.backends.reachable.map(({ address }) => [address, endpointChain(port, address)]),
    );
    this.#protocol = `-m ${protocol} -p ${protocol}`;
    this.#usesExternal = port.hasEndpoints && port.isExternallyAccessible;
    this.#usesFirewall = port.hasEndpoints && port.sourceRanges.length > 0 && this.#of('load-balancer-ip').length > 0;
  }

  /** Nat runs first, so the filter table sees these destinations only where nothing translated them. */
  filter(): string[] {
    const { displayName, healthCheckNodePort } = this.#port;
    const rules: string[] = [];
    for (const frontend of this.#of('cluster-ip')) rules.push(...this.#unavailable('KUBE-SERVICES', frontend));
    for (const frontend of this.#of('external-ip'))
      rules.push(...this.#unavailable('KUBE-EXTERNAL-SERVICES', frontend));
    if (this.#usesFirewall) {
      const comment = `${displayName} traffic not accepted by ${this.#chains.firewall}`;
      for (const frontend of this.#of('load-balancer-ip')) {
        rules.push(`-A KUBE-PROXY-FIREWALL -m comment --comment "${comment}" ${this.#destination(frontend)} -j DROP`);
      }
    }
    for (const frontend of this.#of('load-balancer-ip'))
      rules.push(...this.#unavailable('KUBE-EXTERNAL-SERVICES', frontend));
    for (const frontend of this.#of('node-port')) rules.push(...this.#unavailable('KUBE-EXTERNAL-SERVICES', frontend));
    if (healthCheckNodePort !== 0) {
      const comment = `${displayName} health check node port`;
      rules.push(
        `-A KUBE-NODEPORTS -m comment --comment "${comment}" -m tcp -p tcp --dport ${healthCheckNodePort} -j ACCEPT`,
      );
    }
    return rules;
  }

  /** From the shared chains to the service's own. */
  natDispatch(): string[] {
    const { displayName, hasEndpoints, internal, frontends } = this.#port;
    return frontends.flatMap((frontend) => {
      switch (frontend.kind) {
        case 'cluster-ip':
          if (internal.verdict !== 'balance') return [];
          return [
            `-A KUBE-SERVICES ${this.#comment('cluster IP')} ${this.#destination(frontend)} -j ${this.#chains[internal.over]}`,
          ];
        case 'external-ip':
          if (!hasEndpoints) return [];
          return [
            `-A KUBE-SERVICES ${this.#comment('external IP')} ${this.#destination(frontend)} -j ${this.#chains.external}`,
          ];
        case 'load-balancer-ip': {
          if (!hasEndpoints) return [];
          const target = this.#usesFirewall ? this.#chains.firewall : this.#chains.external;
          return [`-A KUBE-SERVICES ${this.#comment('loadbalancer IP')} ${this.#destination(frontend)} -j ${target}`];
        }
        case 'node-port': {
          if (!hasEndpoints) return [];
          const start = `-A KUBE-NODEPORTS -m comment --comment ${displayName} ${this.#protocol}`;
          const plain = `${start} --dport ${frontend.port} -j ${this.#chains.external}`;
          if (!this.#facts.localhostNodePorts || !this.#facts.counters.localhostNodePorts) return [plain];
          const count = `-m nfacct --nfacct-name ${LOCALHOST_NODE_PORTS_COUNTER}`;
          return [`${start} -d 127.0.0.0/8 --dport ${frontend.port} ${count} -j ${this.#chains.external}`, plain];
        }
        default:
          return assertNever(frontend);
      }
    });
  }

  /** The service's own chains. */
  natOwn(): { natChains: string[]; natRules: string[] } {
    const { backends } = this.#port;
    const natChains: string[] = [];
    const natRules: string[] = this.#masqueradeClusterIp();
    const add = (chain: string, rules: readonly string[]): void => {
      natChains.push(chain);
      for (const rule of rules) natRules.push(rule); // not spread: a service may have more endpoints than a call arguments
    };
    if (this.#usesExternal) add(this.#chains.external, this.#externalRules());
    if (this.#usesFirewall) add(this.#chains.firewall, this.#firewallRules());
    if (backends.cluster.length > 0)
      add(this.#chains.cluster, this.#balanceRules(this.#chains.cluster, backends.cluster));
    if (backends.local.length > 0) add(this.#chains.local, this.#balanceRules(this.#chains.local, backends.local));
    for (const backend of backends.reachable) {
      const chain = this.#endpointChains.get(backend.address)!;
      add(chain, this.#endpointRules(chain, backend));
    }
    return { natChains, natRules };
  }

  /** Clients that are no pods here must see the answer come back through this node. Stands first in the internal chain. */
  #masqueradeClusterIp(): string[] {
    const { internal } = this.#port;
    if (internal.verdict !== 'balance') return [];
    const sources = this.#facts.masqueradeAll ? '' : sourceMatch(this.#facts.detector, 'not-local');
    if (sources === undefined) return [];
    return this.#of('cluster-ip').map((frontend) => {
      const match = `${this.#comment('cluster IP')} ${this.#destination(frontend)}${sources}`;
      return `-A ${this.#chains[internal.over]} ${match} -j KUBE-MARK-MASQ`;
    });
  }

  #externalRules(): string[] {
    const { displayName, external } = this.#port;
    const { external: chain, cluster } = this.#chains;
    const rule = (about: string, match: string, target: string): string =>
      `-A ${chain} -m comment --comment "${about} for ${displayName} external destinations"${match} -j ${target}`;
    const rules: string[] = [];
    if (external.shortCircuitsLocalClients) {
      const local = sourceMatch(this.#facts.detector, 'local');
      if (local !== undefined) rules.push(rule('pod traffic', local, cluster));
      rules.push(rule('masquerade LOCAL traffic', ' -m addrtype --src-type LOCAL', 'KUBE-MARK-MASQ'));
      rules.push(rule('route LOCAL traffic', ' -m addrtype --src-type LOCAL', cluster));
    } else {
      rules.push(rule('masquerade traffic', '', 'KUBE-MARK-MASQ'));
    }
    if (external.verdict === 'balance') rules.push(`-A ${chain} -j ${this.#chains[external.over]}`);
    return rules;
  }

  #firewallRules(): string[] {
    const { displayName, sourceRanges, sourceRangesIncludeNode } = this.#port;
    const { firewall, external } = this.#chains;
    // Some clouds make the node's own traffic to a load-balancer IP appear to come from that very address.
    const ownAddresses = sourceRangesIncludeNode ? this.#of('load-balancer-ip').map(({ ip }) => ip) : [];
    return [
      ...[...sourceRanges, ...ownAddresses].map(
        (source) => `-A ${firewall} ${this.#comment('loadbalancer IP')} -s ${source} -j ${external}`,
      ),
      `-A ${firewall} -m comment --comment "other traffic to ${displayName} will be dropped by KUBE-PROXY-FIREWALL"`,
    ];
  }

  #balanceRules(chain: string, backends: readonly Backend[]): string[] {
    const { displayName, affinityTimeoutSeconds } = this.#port;
    const targets = backends.map(({ address }) => ({
      chain: this.#endpointChains.get(address)!,
      start: `-A ${chain}${this.#terse ? '' : ` -m comment --comment "${displayName} -> ${address}"`}`,
    }));
    const remembered = affinityTimeoutSeconds === 0 ? [] : targets;
    return [
      ...remembered.map(
        ({ chain: to, start }) =>
          `${start} -m recent --name ${to} --rcheck --seconds ${affinityTimeoutSeconds} --reap -j ${to}`,
      ),
      ...targets.map(({ chain: to, start }, i) => {
        const left = targets.length - i;
        return left === 1
          ? `${start} -j ${to}`
          : `${start} -m statistic --mode random --probability ${probability(left)} -j ${to}`;
      }),
    ];
  }

  #endpointRules(chain: string, { ip, address }: Backend): string[] {
    const comment = this.#terse ? '' : ` -m comment --comment ${this.#port.displayName}`;
    const remember = this.#port.affinityTimeoutSeconds === 0 ? '' : ` -m recent --name ${chain} --set`;
    return [
      `-A ${chain}${comment} -s ${ip} -j KUBE-MARK-MASQ`, // a pod that reaches itself must not see its own address
      `-A ${chain}${comment}${remember} ${this.#protocol} -j DNAT --to-destination ${address}`,
    ];
  }

  #unavailable(chain: string, frontend: Frontend): string[] {
    const { displayName, internal, external } = this.#port;
    const { verdict } = frontend.kind === 'cluster-ip' ? internal : external;
    if (verdict === 'balance') return [];
    const comment = `${displayName} has no ${verdict === 'drop' ? 'local ' : ''}endpoints`;
    return [`-A ${chain} -m comment --comment "${comment}" ${this.#destination(frontend)} -j ${verdict.toUpperCase()}`];
  }

  #destination(frontend: Frontend): string {
    if (frontend.kind === 'node-port') return `-m addrtype --dst-type LOCAL ${this.#protocol} --dport ${frontend.port}`;
    return `${this.#protocol} -d ${frontend.ip} --dport ${frontend.port}`;
  }

  #comment(what: string): string {
    return `-m comment --comment "${this.#port.displayName} ${what}"`;
  }

  #of<K extends Frontend['kind']>(kind: K): AddressFrontend<K>[] {
    return this.#port.frontends.filter((frontend) => frontend.kind === kind) as AddressFrontend<K>[];
  }
}

type AddressFrontend<K> = K extends 'node-port'
  ? Extract<Frontend, { kind: 'node-port' }>
  : Exclude<Frontend, { kind: 'node-port' }>;

/** Undefined where the detector cannot tell. */
export function sourceMatch(detector: LocalDetector, wanted: 'local' | 'not-local'): string | undefined {
  const not = wanted === 'local' ? '' : ' !';
  switch (detector.kind) {
    case 'source':
      return `${not} -s ${detector.cidr}`;
    case 'interface':
      return `${not} -i ${detector.name}`;
    case 'interface-prefix':
      return `${not} -i ${detector.prefix}+`;
    case 'none':
      return undefined;
    default:
      return assertNever(detector);
  }
}

/** 1/n with ten decimals. toFixed breaks ties upwards where the contract wants them even; up to 20000 only 1/2048 is a tie. */
function probability(n: number): string {
  return n === 2048 ? '0.0004882812' : (1 / n).toFixed(10);
}
