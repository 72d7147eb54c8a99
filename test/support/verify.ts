// Everything verification needs, for node n1 of the golden network.

import { partOf } from '../../src/daemon/self-check-turns.ts';
import type { Family } from '../../src/lib/ip.ts';
import type { NodeModel } from '../../src/model/model.ts';
import { resolveNode } from '../../src/model/resolve.ts';
import type { IptablesFacts } from '../../src/modes/iptables/facts.ts';
import { iptablesMode } from '../../src/modes/iptables/iptables.ts';
import type { IpvsFacts } from '../../src/modes/ipvs/facts.ts';
import { ipvsMode } from '../../src/modes/ipvs/ipvs.ts';
import type { NftablesFacts } from '../../src/modes/nftables/facts.ts';
import { nftablesMode } from '../../src/modes/nftables/nftables.ts';
import type { UserspaceFacts } from '../../src/modes/userspace/facts.ts';
import { userspaceMode } from '../../src/modes/userspace/userspace.ts';
import { type Concern, concernOf } from '../../src/observe/live/concern.ts';
import { plannedIpvs } from '../../src/observe/live/ipvs-rules.ts';
import { userspaceRules } from '../../src/observe/live/userspace-rules.ts';
import { AddressBook } from '../../src/observe/trace/frontends.ts';
import { IptablesOrigins } from '../../src/observe/trace/iptables-origins.ts';
import { parseIptablesSave } from '../../src/observe/trace/iptables-save.ts';
import { IpvsOrigins } from '../../src/observe/trace/ipvs-origins.ts';
import { parseNftList } from '../../src/observe/trace/nft-list.ts';
import { NftablesOrigins } from '../../src/observe/trace/nftables-origins.ts';
import type { Ruleset } from '../../src/observe/trace/ruleset.ts';
import { withAddresses } from '../../src/observe/trace/surroundings.ts';
import { UserspaceOrigins } from '../../src/observe/trace/userspace-origins.ts';
import { IPTABLES_SCOPE, iptablesSetup } from '../../src/observe/verify/iptables-scope.ts';
import { ipvsScope, ipvsSetup } from '../../src/observe/verify/ipvs-scope.ts';
import { neighbourhoodOf } from '../../src/observe/verify/neighbourhood.ts';
import { NFTABLES_SCOPE, nftablesSetup } from '../../src/observe/verify/nftables-scope.ts';
import { USERSPACE_SCOPE, userspaceSetup } from '../../src/observe/verify/userspace-scope.ts';
import { type Mismatch, type VerifyInput, verify } from '../../src/observe/verify/verify.ts';
import type { Tracker } from '../../src/track/tracker.ts';
import type { Manifest } from './golden.ts';
import { serviceManifest, sliceManifest } from './manifests.ts';
import { goldenHost } from './walker.ts';

const POD_A = { addresses: ['10.244.1.11'], nodeName: 'n1', conditions: { ready: true } };
const POD_B = { addresses: ['10.244.2.11'], nodeName: 'n2', conditions: { ready: true } };
const POD_C = { addresses: ['10.244.2.12'], nodeName: 'n2', conditions: { ready: true } };
const PORTS = [{ name: 'http', port: 80, nodePort: 30080 }];
const INGRESS = { loadBalancer: { ingress: [{ ip: '203.0.113.10' }] } };

/** One Service of each kind, on which faults can be tried. */
export const FAULTY_CLUSTER: readonly Manifest[] = [
  serviceManifest('demo/plain', { clusterIP: '10.96.1.1' }),
  sliceManifest('demo/plain', [POD_A, POD_B, POD_C]),
  serviceManifest('demo/sticky', { clusterIP: '10.96.1.2', sessionAffinity: 'ClientIP' }),
  sliceManifest('demo/sticky', [POD_A, POD_B]),
  serviceManifest(
    'demo/guarded',
    { clusterIP: '10.96.1.3', type: 'LoadBalancer', loadBalancerSourceRanges: ['172.20.0.0/25'], ports: PORTS },
    INGRESS,
  ),
  sliceManifest('demo/guarded', [POD_A, POD_B]),
  serviceManifest('demo/empty', { clusterIP: '10.96.1.4', externalIPs: ['198.51.100.10'] }),
  serviceManifest('demo/local', {
    clusterIP: '10.96.1.5',
    type: 'NodePort',
    externalTrafficPolicy: 'Local',
    ports: [{ name: 'http', port: 80, nodePort: 30081 }],
  }),
  sliceManifest('demo/local', [POD_B]),
];

/** What each Service finds wrong when it is verified alone, with no more of the rules than concerns it. */
export async function mismatchesInParts(
  model: NodeModel,
  input: (part: NodeModel, concern: Concern) => Promise<VerifyInput>,
): Promise<readonly Mismatch[]> {
  const found: Mismatch[] = [];
  for (const name of model.services.keys()) {
    const part = partOf(model, new Set([name]));
    found.push(...verify(await input(part, concernOf(part))).mismatches);
  }
  return found;
}

export const N1 = {
  nodeName: 'n1',
  nodeIPs: { IPv4: '192.168.50.1', IPv6: 'fd00:50::1' },
  allowsExternalIPs: true,
} as const;

/** The same for nftables mode. */
export function nftablesVerifyInput(tracker: Tracker, facts: NftablesFacts, held: Ruleset | undefined): VerifyInput {
  return nftablesInputOf(resolveNode(tracker.take(facts.family), N1), facts, held);
}

export function nftablesInputOf(model: NodeModel, facts: NftablesFacts, held: Ruleset | undefined): VerifyInput {
  const { family } = facts;
  const book = new AddressBook(model);
  return {
    ...common(model, book, facts),
    setup: nftablesSetup(facts),
    planned: parseNftList(nftablesMode.print(nftablesMode.plan(model, facts)), family),
    held,
    origins: new NftablesOrigins(model),
    scope: NFTABLES_SCOPE,
  };
}

export function verifyInput(tracker: Tracker, facts: IptablesFacts, held: Ruleset | undefined): VerifyInput {
  return inputOf(resolveNode(tracker.take(facts.family), N1), facts, held);
}

export function inputOf(model: NodeModel, facts: IptablesFacts, held: Ruleset | undefined): VerifyInput {
  const { family } = facts;
  const book = new AddressBook(model);
  return {
    ...common(model, book, facts),
    setup: iptablesSetup(facts),
    planned: parseIptablesSave(iptablesMode.print(iptablesMode.plan(model, facts)), family),
    held,
    origins: new IptablesOrigins(model),
    scope: IPTABLES_SCOPE,
  };
}

/** The same for userspace mode. `heldText`: of iptables-save, which tells relays' ports. */
export function userspaceVerifyInput(tracker: Tracker, facts: UserspaceFacts, heldText?: string): VerifyInput {
  const { family } = facts;
  const model = resolveNode(tracker.take(family), N1);
  const book = new AddressBook(model);
  const planned = userspaceRules(userspaceMode.plan(model, facts), heldText);
  return {
    ...common(model, book, { detector: facts.detector, nodePortAddresses: { kind: 'all' } }),
    setup: userspaceSetup(facts),
    planned,
    held: heldText === undefined ? undefined : { ...parseIptablesSave(heldText, family), relays: planned.relays! },
    origins: new UserspaceOrigins(model),
    scope: USERSPACE_SCOPE,
  };
}

/** The same for IPVS mode. */
export function ipvsVerifyInput(tracker: Tracker, facts: IpvsFacts, held?: Ruleset): VerifyInput {
  return ipvsInputOf(resolveNode(tracker.take(facts.family), N1), facts, held);
}

export function ipvsInputOf(model: NodeModel, facts: IpvsFacts, held?: Ruleset): VerifyInput {
  const book = new AddressBook(model);
  const planned = plannedIpvs(ipvsMode.plan(model, facts));
  const nodePortAddresses = { kind: 'some', ips: facts.nodePortAddresses } as const;
  const around = common(model, book, { detector: facts.detector, nodePortAddresses }, planned.addresses);
  return {
    ...around,
    host: withAddresses(around.host, held ?? planned),
    setup: ipvsSetup(facts),
    planned,
    held,
    origins: new IpvsOrigins(model),
    scope: ipvsScope(facts),
  };
}

export function userspaceFacts(family: Family): UserspaceFacts {
  return {
    family,
    bindAddress: family === 'IPv4' ? '0.0.0.0' : '::',
    hostIp: N1.nodeIPs[family],
    detector: { kind: 'source', cidr: family === 'IPv4' ? '10.244.0.0/16' : 'fd00:10:244::/48' },
  };
}

function common(
  model: NodeModel,
  book: AddressBook,
  facts: Pick<IptablesFacts, 'detector' | 'nodePortAddresses'>,
  serviceIps?: ReadonlySet<string>,
): Pick<VerifyInput, 'model' | 'book' | 'around' | 'host'> {
  const { family } = model;
  return {
    model,
    book,
    around: neighbourhoodOf(model, book, {
      nodeIp: N1.nodeIPs[family],
      hostIps: ['192.168.50.1', '10.60.0.1', 'fd00:50::1'],
      podCIDRs: ['10.244.1.0/24', 'fd00:10:244:1::/64'],
      detector: facts.detector,
      nodePortAddresses: facts.nodePortAddresses,
      serviceIps,
    }),
    host: goldenHost(family),
  };
}
