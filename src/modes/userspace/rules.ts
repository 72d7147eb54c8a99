// In: one service port.  Out: its rules, each naming the relay it leads to. Which port that relay has is known only when it
// runs, so a rule becomes text when it is written.
import { cidrAddress, cidrContains, cidrPrefixLength, familyOf, hostPort } from '../../lib/ip.ts';
import type { Frontend, ServicePort, TrafficClass } from '../../model/model.ts';
import { sourceMatch } from '../iptables/rules.ts';
import { listensOnAll, type UserspaceFacts } from './facts.ts';

/** `container` chains see packets that enter the host, `host` chains those that its own programs send. */
export const CHAINS = {
  portalsContainer: 'KUBE-PORTALS-CONTAINER',
  portalsHost: 'KUBE-PORTALS-HOST',
  nodePortContainer: 'KUBE-NODEPORT-CONTAINER',
  nodePortHost: 'KUBE-NODEPORT-HOST',
  nonLocal: 'KUBE-NODEPORT-NON-LOCAL',
} as const;

export interface Rule {
  readonly chain: (typeof CHAINS)[keyof typeof CHAINS];
  /** Up to where the relay's port is needed. */
  readonly match: string;
  readonly relay: string;
}

/** Which of a service port's two lists of backends a relay balances over. */
export type RelayList = TrafficClass['over'];

/** `shop/web:http/TCP cluster` */
export function relayKey({ displayName, protocol }: ServicePort, list: RelayList): string {
  return `${displayName}/${protocol} ${list}`;
}

export function portRules(port: ServicePort, facts: UserspaceFacts): Rule[] {
  return port.frontends.flatMap((frontend) => frontendRules(port, frontend, facts));
}

function frontendRules(port: ServicePort, frontend: Frontend, facts: UserspaceFacts): Rule[] {
  const { portalsContainer, portalsHost, nodePortContainer, nodePortHost, nonLocal } = CHAINS;
  const own = frontend.kind === 'cluster-ip' ? port.internal : port.external;
  const relay = relayKey(port, own.over);
  const hostRelay = relayKey(port, own.shortCircuitsLocalClients ? 'cluster' : own.over);
  const head = `-p ${port.protocol.toLowerCase()} -m comment --comment "${port.displayName}" -m ${port.protocol.toLowerCase()}`;
  /** Pods of this node are not outside clients, whose policy sends them to local endpoints only. */
  const container = (chain: Rule['chain'], match: string, from = ''): Rule[] => {
    const pods = own.shortCircuitsLocalClients ? podsIn(from, facts) : undefined;
    return [
      ...(pods === undefined ? [] : [{ chain, match: `${pods} ${match}`, relay: hostRelay }]),
      { chain, match: from === '' ? match : `-s ${from} ${match}`, relay },
    ];
  };
  switch (frontend.kind) {
    case 'cluster-ip':
    case 'load-balancer-ip': {
      const match = `-d ${frontend.ip} ${head} --dport ${frontend.port}`;
      const { sources, isNodeAdmitted } = frontend.kind === 'cluster-ip' ? EVERYBODY : admitted(port);
      return [
        ...sources.flatMap((source) => container(portalsContainer, match, source)),
        ...(isNodeAdmitted ? [{ chain: portalsHost, match, relay: hostRelay }] : []),
      ];
    }
    case 'external-ip': {
      const match = `-d ${frontend.ip} ${head} --dport ${frontend.port}`;
      // Bridged packets of pods are left to the bridge, unless the address is this node's.
      return [
        ...container(portalsContainer, `${match} -m physdev ! --physdev-is-in`),
        ...container(portalsContainer, `${match} -m addrtype --dst-type LOCAL`),
        { chain: portalsHost, match, relay: hostRelay },
      ];
    }
    case 'node-port': {
      const match = `${head} --dport ${frontend.port}`;
      const relays = [...new Set([relay, hostRelay])];
      return [
        ...container(nodePortContainer, match),
        { chain: nodePortHost, match, relay: hostRelay },
        // The filter table sees these packets with the relay's port.
        ...relays.map((each): Rule => ({ chain: nonLocal, match: head, relay: each })),
      ];
    }
  }
}

const EVERYBODY = { sources: [''], isNodeAdmitted: true };

/** Who may use the load-balancer addresses. Others are not led to a relay, so nobody answers them. */
function admitted({ sourceRanges, sourceRangesIncludeNode }: ServicePort): typeof EVERYBODY {
  if (sourceRanges.length === 0) return EVERYBODY;
  return { sources: [...sourceRanges], isNodeAdmitted: sourceRangesIncludeNode };
}

/** The match for those of this node's pods that are in a network ('': everywhere); undefined if there is no such pod, or if
 *  pods cannot be told from others. */
function podsIn(network: string, { detector }: UserspaceFacts): string | undefined {
  const pods = sourceMatch(detector, 'local')?.trim();
  if (pods === undefined || network === '') return pods;
  if (detector.kind !== 'source') return `-s ${network} ${pods}`;
  if (cidrContains(network, cidrAddress(detector.cidr))) {
    return `-s ${cidrPrefixLength(network) > cidrPrefixLength(detector.cidr) ? network : detector.cidr}`;
  }
  return cidrContains(detector.cidr, cidrAddress(network)) ? `-s ${network}` : undefined;
}

/** Without the command in front: `KUBE-PORTALS-HOST -d 10.96.0.1 … -j DNAT --to-destination 192.0.2.10:41017` */
export function ruleText({ chain, match }: Rule, facts: UserspaceFacts, relayPort: string | number): string {
  if (chain === CHAINS.nonLocal) return `${chain} ${match} --dport ${relayPort} -m state --state NEW -j ACCEPT`;
  // Not REDIRECT, which upstream used for packets that enter the host: it needs an address on the interface they came through,
  // and many pod interfaces have none. The node's own packets it would send to 127.0.0.1, where no answer finds back.
  const ip = listensOnAll(facts) ? facts.hostIp : facts.bindAddress;
  return `${chain} ${match} -j DNAT --to-destination ${destination(ip, relayPort)}`;
}

function destination(ip: string, port: string | number): string {
  return typeof port === 'number' ? hostPort(ip, port) : familyOf(ip) === 'IPv4' ? `${ip}:${port}` : `[${ip}]:${port}`;
}
