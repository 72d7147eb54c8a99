// In: one frontend, one client, and how the proxy is set up.  Out: what the API objects mean should become of the packet.
// Written from the meaning of the fields alone and not from any rule, so that rules can be wrong against it.
import { cidrContains, isLoopback } from '../../lib/ip.ts';
import type { Backend, Frontend, ServicePort, TrafficClass } from '../../model/model.ts';
import type { LocalDetector } from '../../modes/local-detector.ts';
import type { Client } from '../trace/clients.ts';
import { fraction } from '../trace/fraction.ts';
import type { Surroundings } from '../trace/packet.ts';
import { DROPPED, type Fate, REJECTED, reaches, type SeenSource, UNTOUCHED } from './outcome-class.ts';

/** What is not said by objects: the configuration, and in what the modes are known to differ. */
export interface Setup {
  readonly masqueradeAll: boolean;
  readonly detector: LocalDetector;
  /** Node ports answer on 127.0.0.1. */
  readonly localhostNodePorts: boolean;
  readonly takesNodePorts: (ip: string) => boolean;
  /** False in iptables mode: what this node sends to an external address without endpoints is left alone. */
  readonly refusesOwnTrafficToExternalAddresses: boolean;
  /** True in iptables mode: a node port that cannot be served is refused on every address of the node. */
  readonly refusesNodePortsEverywhere: boolean;
  /** False in iptables mode: source ranges count only while there are endpoints. */
  readonly guardsWithoutEndpoints: boolean;
  /** What a client gets where nobody can serve it. `as-meant`: refused if there is no endpoint at all, silence if a policy leaves none.
   *  `refused`: in IPVS mode, which cannot keep silent. `after-accepting`: in userspace mode a relay resets what it has accepted, and drops
   *  datagrams. */
  readonly withoutEndpoints: 'as-meant' | 'refused' | 'after-accepting';
  /** True in userspace mode: connections to endpoints are made by this node. */
  readonly relays: boolean;
  /** False in userspace mode: clients that source ranges leave out are not led anywhere. */
  readonly dropsExcludedSources: boolean;
  /** True in IPVS mode: this node's own packets are judged by source ranges only once somebody was found for them. */
  readonly balancesOwnTrafficFirst: boolean;
  /** True in IPVS mode: under external policy Local, pods and processes of this node are led on to the cluster IP, and treated as there. */
  readonly leadsLocalClientsToClusterIp: boolean;
  /** SCTP is not, in userspace mode. */
  readonly serves: (protocol: ServicePort['protocol']) => boolean;
}

/** What most modes have in common. */
export const USUAL = {
  withoutEndpoints: 'as-meant',
  relays: false,
  dropsExcludedSources: true,
  balancesOwnTrafficFirst: false,
  leadsLocalClientsToClusterIp: false,
  serves: () => true,
} as const satisfies Partial<Setup>;

export interface Knock {
  readonly port: ServicePort;
  readonly frontend: Frontend;
  /** The frontend's address, or one of this node for a node port. */
  readonly dst: string;
  readonly client: Client;
}

export function meaningOf(knock: Knock, setup: Setup, host: Surroundings): Fate {
  const { port, frontend, dst, client } = knock;
  if (!setup.serves(port.protocol)) return only(UNTOUCHED);
  if (frontend.kind === 'node-port' && !takesNodePort(dst, setup)) {
    const isRefused = port.external.verdict !== 'balance' && setup.refusesNodePortsEverywhere;
    return isRefused ? unavailable(port.external, knock, setup, host) : only(UNTOUCHED);
  }
  const isInternal = frontend.kind === 'cluster-ip';
  const own = isInternal ? port.internal : port.external;
  const isUnavailable = own.verdict !== 'balance';
  if (frontend.kind === 'load-balancer-ip' && isShutOut(knock, setup)) {
    if (isUnavailable && client.isThisHost && setup.balancesOwnTrafficFirst)
      return unavailable(own, knock, setup, host);
    return only(setup.dropsExcludedSources ? DROPPED : UNTOUCHED);
  }
  const isPod = isLocalPod(client, setup.detector);
  const isShortCircuited =
    !isInternal && own.shortCircuitsLocalClients && port.hasEndpoints && (isPod || isOwn(client, host));
  const isLedOn = isShortCircuited && setup.leadsLocalClientsToClusterIp;
  const traffic = isLedOn ? port.internal : own;
  if ((!isShortCircuited || isLedOn) && traffic.verdict !== 'balance') return unavailable(traffic, knock, setup, host);

  const backends = port.backends[isShortCircuited && !isLedOn ? 'cluster' : traffic.over];
  const source = isLedOn && setup.masqueradeAll ? 'node' : seenSource(knock, isInternal, isPod, setup, host);
  const ends = backends.map((backend) =>
    reaches(backend.address, setup.relays ? 'node' : sourceAt(backend, client, source, host)),
  );
  return {
    fresh: new Map(ends.map((end) => [end, fraction(1, ends.length)])),
    remembered: port.affinityTimeoutSeconds === 0 ? [] : ends.sort(),
  };
}

function only(end: string): Fate {
  return { fresh: new Map([[end, fraction(1)]]), remembered: [] };
}

function takesNodePort(dst: string, setup: Setup): boolean {
  return isLoopback(dst) ? setup.localhostNodePorts : setup.takesNodePorts(dst);
}

/** Load-balancer addresses may be kept to some networks, and to themselves where those include this node. */
function isShutOut({ port, client }: Knock, setup: Setup): boolean {
  if (port.sourceRanges.length === 0 || !(port.hasEndpoints || setup.guardsWithoutEndpoints)) return false;
  if (port.sourceRanges.some((range) => cidrContains(range, client.ip))) return false;
  const isAmongThem = port.frontends.some(
    (frontend) => frontend.kind === 'load-balancer-ip' && frontend.ip === client.ip,
  );
  return !(port.sourceRangesIncludeNode && isAmongThem);
}

function unavailable(
  traffic: TrafficClass,
  { port, frontend, dst, client }: Knock,
  setup: Setup,
  host: Surroundings,
): Fate {
  if (setup.withoutEndpoints === 'refused') return only(REJECTED);
  if (setup.withoutEndpoints === 'after-accepting') return only(port.protocol === 'TCP' ? REJECTED : DROPPED);
  const staysHere = isLoopback(dst) || host.isOwnAddress(dst);
  const isLeftAlone =
    frontend.kind !== 'cluster-ip' && client.isThisHost && !staysHere && !setup.refusesOwnTrafficToExternalAddresses;
  return only(isLeftAlone ? UNTOUCHED : traffic.verdict === 'reject' ? REJECTED : DROPPED);
}

/** Answers must come back through this node unless the client is a pod, or the chosen endpoint is on this node by policy. */
function seenSource(
  { port, client }: Knock,
  isInternal: boolean,
  isPod: boolean,
  setup: Setup,
  host: Surroundings,
): SeenSource {
  if (isInternal) return setup.masqueradeAll || (setup.detector.kind !== 'none' && !isPod) ? 'node' : 'client';
  if (port.external.over === 'cluster') return 'node';
  return isPod || !isOwn(client, host) ? 'client' : 'node';
}

function sourceAt(backend: Backend, client: Client, source: SeenSource, host: Surroundings): SeenSource {
  if (client.isThisHost && !isLoopback(client.ip)) return 'node';
  // A process of this node is its endpoint: the packet has arrived, and answers go back through this node in any case.
  if (host.isOwnAddress(backend.ip) && !client.isThisHost) return 'client';
  return backend.ip === client.ip ? 'node' : source; // a pod that is sent to itself must not see its own address
}

function isOwn(client: Client, host: Surroundings): boolean {
  return client.isThisHost || isLoopback(client.ip) || host.isOwnAddress(client.ip);
}

export function isLocalPod(client: Client, detector: LocalDetector): boolean {
  switch (detector.kind) {
    case 'source':
      return cidrContains(detector.cidr, client.ip);
    case 'interface':
      return client.device === detector.name;
    case 'interface-prefix':
      return client.device?.startsWith(detector.prefix) ?? false;
    case 'none':
      return false;
  }
}
