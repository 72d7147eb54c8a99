// The part of the rules that does not depend on any service: marks, masquerading, forwarding, and where node ports begin.
import { isLoopback } from '../../lib/ip.ts';
import { INVALID_DROPPED_COUNTER, type IptablesFacts } from './facts.ts';

/** Rules by where upstream writes them: the heads before those of services, the tails after. */
export interface FixedPart {
  readonly filterChains: readonly string[];
  readonly filterHead: readonly string[];
  readonly filterTail: readonly string[];
  readonly natChains: readonly string[];
  readonly natHead: readonly string[];
  /** The end of KUBE-SERVICES, which the rules of services must not come after. */
  readonly natTail: readonly string[];
}

export function fixedPart(facts: IptablesFacts): FixedPart {
  const mark = `0x${facts.masqueradeMark.toString(16).padStart(8, '0')}`;
  return {
    filterChains: [
      'KUBE-SERVICES',
      'KUBE-EXTERNAL-SERVICES',
      'KUBE-FORWARD',
      'KUBE-NODEPORTS',
      'KUBE-PROXY-FIREWALL',
      ...(facts.localhostNodePorts ? ['KUBE-FIREWALL'] : []),
    ],
    // route_localnet lets the network reach 127.0.0.1, which this takes back.
    filterHead: facts.localhostNodePorts
      ? [
          '-A KUBE-FIREWALL -m comment --comment "block incoming localnet connections" -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP',
        ]
      : [],
    filterTail: forwardRules(facts, mark),
    natChains: ['KUBE-SERVICES', 'KUBE-NODEPORTS', 'KUBE-POSTROUTING', 'KUBE-MARK-MASQ'],
    natHead: [
      `-A KUBE-POSTROUTING -m mark ! --mark ${mark}/${mark} -j RETURN`,
      `-A KUBE-POSTROUTING -j MARK --xor-mark ${mark}`,
      `-A KUBE-POSTROUTING -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE${facts.hasRandomFully ? ' --random-fully' : ''}`,
      `-A KUBE-MARK-MASQ -j MARK --or-mark ${mark}`,
    ],
    natTail: nodePortRules(facts),
  };
}

function forwardRules(facts: IptablesFacts, mark: string): readonly string[] {
  const count = facts.counters.invalidDropped ? ` -m nfacct --nfacct-name ${INVALID_DROPPED_COUNTER}` : '';
  return [
    // A packet out of window is not translated back; its receiver would answer the wrong address with a reset.
    ...(facts.conntrackIsLiberal ? [] : [`-A KUBE-FORWARD -m conntrack --ctstate INVALID${count} -j DROP`]),
    `-A KUBE-FORWARD -m comment --comment "kubernetes forwarding rules" -m mark --mark ${mark}/${mark} -j ACCEPT`,
    '-A KUBE-FORWARD -m comment --comment "kubernetes forwarding conntrack rule" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT',
  ];
}

function nodePortRules({ family, nodePortAddresses, localhostNodePorts }: IptablesFacts): readonly string[] {
  const start =
    '-A KUBE-SERVICES -m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain"';
  if (nodePortAddresses.kind === 'some') {
    const ips = nodePortAddresses.ips.filter((ip) => localhostNodePorts || !isLoopback(ip));
    return ips.map((ip) => `${start} -d ${ip} -j KUBE-NODEPORTS`);
  }
  const exclude = family === 'IPv6' ? ' ! -d ::1/128' : localhostNodePorts ? '' : ' ! -d 127.0.0.0/8';
  return [`${start} -m addrtype --dst-type LOCAL${exclude} -j KUBE-NODEPORTS`];
}
