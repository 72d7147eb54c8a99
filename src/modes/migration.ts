// In: a service port, two modes and how each is configured.  Out: what clients will notice when one takes the other's place. Each mode
// says how it treats the port in the aspects in which modes differ at all; where two answers differ, that is a difference.

import type { ServicePort } from '../model/model.ts';
import type { ModeName } from './mode.ts';

/** One mode as it would run on this node. */
export interface ModeOutlook {
  readonly mode: ModeName;
  /** Where node ports answer: `every address`, or addresses and networks. */
  readonly nodePortAddresses: 'every address' | readonly string[];
  readonly localhostNodePorts: boolean;
  /** IPVS only. */
  readonly scheduler: string;
}

export interface Difference {
  readonly aspect: string;
  readonly before: string;
  readonly after: string;
}

export function portDifferences(port: ServicePort, from: ModeOutlook, to: ModeOutlook): readonly Difference[] {
  return compared(portTraits(port, from), portTraits(port, to));
}

/** What holds for every Service. */
export function generalDifferences(from: ModeOutlook, to: ModeOutlook): readonly Difference[] {
  return compared(generalTraits(from), generalTraits(to));
}

type Traits = ReadonlyMap<string, string>;

function compared(before: Traits, after: Traits): readonly Difference[] {
  return [...before]
    .filter(([aspect, text]) => after.get(aspect) !== text)
    .map(([aspect, text]) => ({ aspect, before: text, after: after.get(aspect) ?? '' }));
}

function portTraits(port: ServicePort, outlook: ModeOutlook): Traits {
  const traits = new Map<string, string>();
  const hasNodePort = port.frontends.some(({ kind }) => kind === 'node-port');
  const isLocal = port.internal.over === 'local' || (port.isExternallyAccessible && port.external.over === 'local');
  if (hasNodePort) {
    traits.set('node port', nodePortText(outlook));
    traits.set('node port on localhost', outlook.localhostNodePorts ? 'answers' : 'does not answer');
  }
  if (port.affinityTimeoutSeconds > 0) traits.set('session affinity', AFFINITY[outlook.mode]);
  if (isLocal) traits.set('policy Local, no endpoint here', WITHOUT_LOCAL[outlook.mode]);
  if (port.protocol === 'SCTP') traits.set('SCTP', outlook.mode === 'userspace' ? 'not served' : 'served');
  return traits;
}

function generalTraits(outlook: ModeOutlook): Traits {
  const { mode, scheduler } = outlook;
  return new Map([
    [
      'choice of endpoint',
      mode === 'ipvs' ? `by the scheduler ${scheduler}` : mode === 'userspace' ? 'in turn' : 'at random, evenly',
    ],
    [
      'a Service without endpoints',
      mode === 'userspace' ? 'TCP is accepted and reset, UDP is silent' : 'is refused at once',
    ],
    [
      'ports of a cluster IP that its Service does not have',
      mode === 'nftables' || mode === 'ipvs' ? 'are refused' : 'are left to routing',
    ],
    [
      'the client that an endpoint sees',
      mode === 'userspace' ? 'is always the node' : 'is the client, unless its packets are masqueraded',
    ],
    ['cluster IPs', mode === 'ipvs' ? 'are addresses of the node (kube-ipvs0)' : 'are on no interface'],
    ['while the agent restarts', mode === 'userspace' ? 'no Service works' : 'Services go on working'],
  ]);
}

function nodePortText({ nodePortAddresses }: ModeOutlook): string {
  return nodePortAddresses === 'every address' ? 'on every address of the node' : `on ${nodePortAddresses.join(', ')}`;
}

const AFFINITY: Readonly<Record<ModeName, string>> = {
  iptables: 'a client keeps its endpoint on all addresses of the port',
  nftables: 'a client keeps its endpoint on all addresses of the port',
  userspace: 'a client keeps its endpoint on all addresses of the port',
  ipvs: 'a client keeps its endpoint on each address by itself',
};

const WITHOUT_LOCAL: Readonly<Record<ModeName, string>> = {
  iptables: 'packets are dropped in silence',
  nftables: 'packets are dropped in silence',
  ipvs: 'packets are refused: port unreachable',
  userspace: 'TCP is accepted and reset, UDP is silent',
};
