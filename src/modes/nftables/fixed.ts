// The rules that do not depend on services: which packets meet which table of rows, in which order. See README.md for the
// packet's path. Hooks and priorities are upstream's, since others arrange themselves around them.
import type { NftHook, NftSet } from '../../kernel/nftables-objects.ts';
import { isLoopback } from '../../lib/ip.ts';
import type { NftablesFacts } from './facts.ts';
import {
  type ChainPlan,
  type Clause,
  commented,
  drop,
  goto,
  jump,
  localSource,
  type Row,
  type Rule,
  rule,
} from './rules.ts';
import { fixedSets } from './sets.ts';

export interface FixedPart {
  readonly chains: readonly ChainPlan[];
  readonly sets: readonly NftSet[];
  readonly rows: readonly Row[];
}

export function fixedPart(facts: NftablesFacts, serviceCIDRs: readonly string[]): FixedPart {
  return {
    chains: [
      ...baseChains(),
      ...checkChains(facts, serviceCIDRs),
      ...serviceChains(facts),
      ...shortCircuitChains(facts),
      ...learnChains(),
      masqueradingChain(facts),
    ],
    sets: fixedSets({ ...facts, hasNodePortIps: facts.nodePortAddresses.kind === 'some' }),
    rows: nodePortRows(facts),
  };
}

const FRONTEND = ['daddr', 'l4proto', 'dport'] as const;
const NODE_PORT = ['l4proto', 'dport'] as const;
const isNew: Clause = { kind: 'is-new' };

function baseChains(): ChainPlan[] {
  return [
    base('filter', 'prerouting', 'pre-dnat', -110, rule(isNew, jump('firewall-check'))),
    base('filter', 'output', 'pre-dnat', -110, rule(isNew, jump('firewall-check'))),
    base('nat', 'prerouting', '', -100, rule(jump('services'))),
    base('nat', 'output', '', -100, rule(jump('services'))),
    base('filter', 'prerouting', 'post-dnat', -90, rule(isNew, { kind: 'is-translated' }, jump('learn'))),
    base('filter', 'output', 'post-dnat', -90, rule(isNew, { kind: 'is-translated' }, jump('learn'))),
    base(
      'filter',
      'input',
      '',
      0,
      rule(isNew, jump('nodeport-endpoints-check')),
      rule(isNew, jump('service-endpoints-check')),
    ),
    base(
      'filter',
      'forward',
      '',
      0,
      rule(isNew, jump('service-endpoints-check')),
      rule(isNew, jump('cluster-ips-check')),
    ),
    base(
      'filter',
      'output',
      '',
      0,
      rule(isNew, jump('service-endpoints-check')),
      rule(isNew, jump('cluster-ips-check')),
    ),
    base('nat', 'postrouting', '', 100, rule(jump('masquerading'))),
  ];
}

function base(type: 'filter' | 'nat', hook: NftHook, suffix: string, priority: number, ...rules: Rule[]): ChainPlan {
  return { name: `${type}-${hook}${suffix && `-${suffix}`}`, base: { type, hook, priority }, rules };
}

/** Rejecting takes place after translation, in input, forward and output: only what was not translated can match there. */
function checkChains(facts: NftablesFacts, serviceCIDRs: readonly string[]): ChainPlan[] {
  const clusterIpRules = [
    commented('Reject traffic to invalid ports of ClusterIPs', inSet('daddr', 'cluster-ips'), { kind: 'reject' }),
  ];
  if (serviceCIDRs.length > 0) {
    const networks = { kind: 'in-networks', field: 'daddr', networks: serviceCIDRs, isNegated: false } as const;
    clusterIpRules.push(commented('Drop traffic to unallocated ClusterIPs', networks, drop));
  }
  return [
    chain('firewall-check', rule(verdictOf(FRONTEND, 'firewall-ips'))),
    chain('service-endpoints-check', rule(verdictOf(FRONTEND, 'no-endpoint-services'))),
    chain(
      'nodeport-endpoints-check',
      rule(...toNodePortAddress(facts, false), verdictOf(NODE_PORT, 'no-endpoint-nodeports')),
    ),
    chain('cluster-ips-check', ...clusterIpRules),
    {
      name: 'reject-chain',
      comment: 'helper for @no-endpoint-services / @no-endpoint-nodeports',
      rules: [rule({ kind: 'reject' })],
    },
  ];
}

function serviceChains(facts: NftablesFacts): ChainPlan[] {
  const setMark = { kind: 'set-mark', mark: facts.masqueradeMark } as const;
  return [
    chain(
      'services',
      ...clusterIpMasquerade(facts),
      rule(verdictOf(FRONTEND, 'external-ips')),
      rule(verdictOf(FRONTEND, 'service-ips')),
      rule(...toNodePortAddress(facts, true), goto('nodeports')),
    ),
    chain(
      'nodeports',
      rule(verdictOf(NODE_PORT, 'external-nodeports')),
      rule(verdictOf(NODE_PORT, 'service-nodeports')),
    ),
    chain('mark-for-masquerade', rule(setMark)),
  ];
}

function clusterIpMasquerade(facts: NftablesFacts): Rule[] {
  const setMark = { kind: 'set-mark', mark: facts.masqueradeMark } as const;
  const toClusterIp = inSet('daddr', 'cluster-ips');
  if (facts.masqueradeAll) return [commented('masquerade all clusterIP traffic', toClusterIp, setMark)];
  const notLocal = localSource(facts.detector, true);
  return notLocal
    ? [commented('masquerade clusterIP traffic from outside cluster', toClusterIp, notLocal, setMark)]
    : [];
}

/** Under policy Local, pods and processes of this node are served as under policy Cluster. */
function shortCircuitChains(facts: NftablesFacts): ChainPlan[] {
  const fromPod = localSource(facts.detector, false);
  const setMark = { kind: 'set-mark', mark: facts.masqueradeMark } as const;
  const shortCircuit = (name: string, target: string): ChainPlan =>
    chain(
      name,
      ...(fromPod ? [commented('short-circuit pod traffic', fromPod, goto(target))] : []),
      commented('masquerade local traffic', { kind: 'from-node' }, setMark),
      commented('short-circuit local traffic', { kind: 'from-node' }, goto(target)),
    );
  return [
    shortCircuit('short-circuit', 'cluster-policy'),
    chain('cluster-policy', rule(verdictOf(FRONTEND, 'cluster-policy-ips'))),
    shortCircuit('short-circuit-nodeports', 'cluster-policy-nodeports'),
    chain('cluster-policy-nodeports', rule(verdictOf(NODE_PORT, 'cluster-policy-nodeports'))),
  ];
}

/** Session affinity: what the packet's first destination and its new one say together is where the client was sent. */
function learnChains(): ChainPlan[] {
  const hasPorts = { kind: 'has-ports' } as const;
  const chosen = ['daddr', 'dport'] as const;
  return [
    chain(
      'learn',
      rule(hasPorts, verdictOf(['original-daddr', 'l4proto', 'original-dport', ...chosen], 'learn-ips')),
      rule(hasPorts, verdictOf(['l4proto', 'original-dport', ...chosen], 'learn-nodeports')),
    ),
  ];
}

function masqueradingChain({ masqueradeMark: mark }: NftablesFacts): ChainPlan {
  const hairpin = inSet(['saddr', 'daddr', 'l4proto', 'dport'], 'hairpin-connections');
  return chain(
    'masquerading',
    rule({ kind: 'has-mark', mark }, { kind: 'toggle-mark', mark }, { kind: 'masquerade' }),
    rule({ kind: 'is-translated' }, hairpin, { kind: 'masquerade' }),
  );
}

/** Where all addresses take node ports, loopback is still left out unless it is asked for. */
function toNodePortAddress(facts: NftablesFacts, mustBeOurs: boolean): Clause[] {
  if (facts.nodePortAddresses.kind === 'some') return [inSet('daddr', 'nodeport-ips')];
  const loopback = facts.family === 'IPv4' ? '127.0.0.0/8' : '::1';
  const notLoopback = { kind: 'in-networks', field: 'daddr', networks: [loopback], isNegated: true } as const;
  return [...(mustBeOurs ? [{ kind: 'to-node' } as const] : []), ...(facts.localhostNodePorts ? [] : [notLoopback])];
}

function nodePortRows({ nodePortAddresses, localhostNodePorts }: NftablesFacts): Row[] {
  if (nodePortAddresses.kind === 'all') return [];
  return nodePortAddresses.ips
    .filter((ip) => localhostNodePorts || !isLoopback(ip))
    .map((ip) => ({ set: 'nodeport-ips', key: ip }));
}

function chain(name: string, ...rules: Rule[]): ChainPlan {
  return { name, rules };
}

function inSet(field: Extract<Clause, { kind: 'in-set' }>['field'], set: string): Clause {
  return { kind: 'in-set', field, set };
}

function verdictOf(fields: Extract<Clause, { kind: 'verdict-of' }>['fields'], map: string): Clause {
  return { kind: 'verdict-of', fields, map };
}
