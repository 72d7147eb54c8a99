// Names of what belongs to one port of one service, and of chains that services share.
import { base32Hash } from '../../lib/hash.ts';
import type { ServicePort } from '../../model/model.ts';
import type { Transport } from './rules.ts';

/** Upstream's name, so that either proxy replaces the other's table in one transaction. */
export const TABLE_NAME = 'kube-proxy';

/** Serves packets while a table of that name is exchanged for ours. */
export const STAND_IN_NAME = 'kube-proxy-stand-in';

/** In the table's comment: which program's rows these are, and in which layout. A table that says otherwise is made anew. */
export const TABLE_COMMENT = 'rules for kube-proxy';
export function tableComment(hasCounters: boolean): string {
  return `${TABLE_COMMENT} (portolan 1${hasCounters ? ', counted' : ''})`;
}

// nft refuses longer comments, although the kernel takes them, and what we print must load.
const MAX_COMMENT = 128;

/** `shop/cart:http`, cut where nft would not take it. */
export function displayComment({ displayName }: ServicePort): string {
  return displayName.length <= MAX_COMMENT ? displayName : `${displayName.slice(0, MAX_COMMENT - 3)}...`;
}

const TRANSPORT_OF = { TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' } as const;

export function transportOf({ protocol }: ServicePort): Transport {
  return TRANSPORT_OF[protocol];
}

/** As in upstream's chains: a hash, then the name for people. At most 209 characters. */
export function portBase(port: ServicePort): string {
  const name = `${port.namespace}/${port.serviceName}/${transportOf(port)}/${port.portName}`;
  return `${base32Hash(name, 8)}-${name}`;
}

export interface PickKind {
  readonly transport: Transport;
  readonly isNodePort: boolean;
  /** Its indexes begin behind those of the frontend's other list. */
  readonly isSecondList: boolean;
}

/** `pick-tcp-2`: one of two endpoints. `local`: where a frontend has two lists, from that of policy Local. */
export function pickChain({ transport, isNodePort, isSecondList }: PickKind, count: number): string {
  return `pick${isSecondList ? '-local' : ''}${isNodePort ? '-nodeport' : ''}-${transport}-${count}`;
}

export type AffinityList = 'cluster' | 'local';

/** `only-local`: the frontend has no other list. */
export function stickChainName(
  port: ServicePort,
  { over, isNodePort, isSecondList }: Omit<PickKind, 'transport'> & { readonly over: AffinityList },
): string {
  const list = over === 'cluster' ? '' : isSecondList ? '-local' : '-only-local';
  return `stick${list}${isNodePort ? '-nodeport' : ''}-${portBase(port)}`;
}

export const AFFINITY_PREFIX = 'affinity-';

export function affinityName(port: ServicePort, list: AffinityList, targetPort: number): string {
  return `${AFFINITY_PREFIX}${list === 'local' ? 'local-' : ''}${portBase(port)}/${targetPort}`;
}

export function learnChainName(port: ServicePort, lists: readonly AffinityList[], targetPort: number): string {
  return `learn-${lists.join('-')}-${portBase(port)}/${targetPort}`;
}

/** Services with the same source ranges share a chain. */
export function firewallChain(networks: readonly string[]): string {
  return `firewall-${base32Hash(networks.join(' '), 16)}`;
}
