// In: a service port and its planned rules.  Out: the picture of iptables mode, drawn from the rules themselves: address, chains,
// endpoints, and on each edge the rule that makes it.
import type { ServicePort } from '../../model/model.ts';
import { endpointChain, serviceChains } from '../../modes/iptables/names.ts';
import type { PortRules } from '../../modes/iptables/rules.ts';
import { type Fraction, fractionText, ONE, rest, times, toNumber } from '../trace/fraction.ts';
import { type IptablesRule, parseIptablesRule } from './iptables-rule.ts';
import { endpointNode, frontendNode } from './picture-nodes.ts';
import type { Picture, PictureEdge, PictureNode } from './shapes.ts';

export function iptablesPicture(port: ServicePort, rules: PortRules): Picture {
  const endpointIds = new Map(port.backends.reachable.map(({ address }) => [endpointChain(port, address), address]));
  const frontends = port.frontends.map((frontend) => frontendNode(port, frontend));
  const edges = new EdgeList((chain) => endpointIds.get(chain) ?? chain);
  for (const text of [...rules.natDispatch, ...rules.filter]) {
    const rule = parseIptablesRule(text);
    if (rule?.counter && frontends.some(({ id }) => id === rule.counter))
      edges.add(rule.counter, rule, text, undefined);
  }
  const left = new Map<string, Fraction>();
  for (const text of rules.natRules) {
    const rule = parseIptablesRule(text);
    if (!rule?.counter) continue;
    const share = shareOf(rule, left);
    edges.add(rule.chain, rule, text, share);
  }
  const chains = Object.entries(serviceChains(port)).filter(([, name]) => rules.natChains.includes(name));
  const ends = [...new Set(edges.all().map(({ to }) => to))].filter((to) => to === 'reject' || to === 'drop');
  const nodes: PictureNode[] = [
    ...frontends,
    ...chains.map(([role, id]) => ({ kind: 'chain' as const, id, name: id, role: ROLES[role]! })),
    ...port.backends.reachable.map((backend) => endpointNode(backend, endpointChain(port, backend.address))),
    ...ends.map((verdict) => ({ kind: 'end' as const, id: verdict, verdict })),
  ];
  return { nodes, edges: edges.all() };
}

const ROLES: Readonly<Record<string, string>> = {
  cluster: 'picks an endpoint',
  local: 'picks one of this node',
  external: 'external traffic',
  firewall: 'source ranges only',
};

/** Rules with a chance take their share of what the rules before have left. */
function shareOf(rule: IptablesRule, left: Map<string, Fraction>): Fraction | undefined {
  if (rule.isForRemembered || rule.source !== undefined || rule.isForNodeItself) return undefined;
  const before = left.get(rule.chain) ?? ONE;
  if (!rule.chance) return before;
  left.set(rule.chain, times(before, rest(rule.chance)));
  return times(before, rule.chance);
}

class EdgeList {
  readonly #byId = new Map<string, PictureEdge>();
  readonly #nodeOf: (chain: string) => string;

  constructor(nodeOf: (chain: string) => string) {
    this.#nodeOf = nodeOf;
  }

  all(): readonly PictureEdge[] {
    return [...this.#byId.values()];
  }

  /** Rules that lead the same way are one edge. */
  add(from: string, rule: IptablesRule, text: string, share: Fraction | undefined): void {
    const isVerdict = rule.target === 'REJECT' || rule.target === 'DROP';
    const to = isVerdict ? rule.target.toLowerCase() : this.#nodeOf(rule.target);
    const id = `${from}>${to}`;
    const known = this.#byId.get(id);
    const isShared = share !== undefined && !(share.numerator === share.denominator);
    this.#byId.set(id, {
      id,
      from,
      to,
      share: isShared ? fractionText(share) : known?.share,
      probability: share ? toNumber(share) : known?.probability,
      condition: conditions(known?.condition, conditionOf(rule)),
      rules: [...(known?.rules ?? []), text],
      // Verdicts stand in the filter table, where nobody counts for us.
      counter: isVerdict ? undefined : rule.counter,
    });
  }
}

function conditions(a: string | undefined, b: string | undefined): string | undefined {
  if (!a || !b || a.includes(b)) return a ?? b;
  return `${a}, ${b}`;
}

function conditionOf(rule: IptablesRule): string | undefined {
  if (rule.chain === 'KUBE-PROXY-FIREWALL') return 'other sources';
  if (rule.isForRemembered) return 'sticky';
  if (rule.isForNodeItself) return 'this node itself';
  return rule.source === undefined ? undefined : `from ${rule.source}`;
}
