// Rules as data, in one form for whatever tool wrote them: tables hold chains, chains hold rules, a rule is what it asks of a
// packet and what it then does. iptables-save.ts and nft-list.ts make it of the tools' texts. Beside rules there may be others
// that decide: sets that rules ask, and balancers that take what rules let through. The walker knows nothing else.
import type { Family } from '../../lib/ip.ts';
import type { Fraction } from './fraction.ts';

export interface Ruleset {
  readonly family: Family;
  /** In the order in which the kernel asks tables that have the same priority. */
  readonly tables: readonly Table[];
  /** Sets of ipset, by name; every table of iptables may ask them. */
  readonly ipSets?: ReadonlyMap<string, IpSet>;
  /** Addresses that this host has for the sake of Services alone. */
  readonly addresses?: ReadonlySet<string>;
  /** Those of ip_vs, by `tcp 10.96.0.1:80`. */
  readonly virtualServers?: ReadonlyMap<string, Balancer>;
  /** Processes of this host that pass on what is delivered to them, by `tcp 192.0.2.10:40123`. */
  readonly relays?: ReadonlyMap<string, Balancer>;
  /** `tcp 40123`: ports at which processes of this host listen, where it is known. */
  readonly listening?: ReadonlySet<string>;
}

/** What stands beside rules. */
export type Beside = Omit<Ruleset, 'family' | 'tables'>;

/** Entries as ipset prints them: `10.96.0.1,tcp:80`. */
export interface IpSet {
  readonly name: string;
  /** `hash:ip,port` */
  readonly type: string;
  readonly entries: ReadonlySet<string>;
}

/** Somebody who takes connections and spreads them over others. */
export interface Balancer {
  readonly name: string;
  /** As its tool prints it, or as people would say it. */
  readonly text: string;
  readonly destinations: readonly BalancerDestination[];
  /** Clients stay with who they had. */
  readonly isSticky: boolean;
  /** `scheduler sh`: who decides, where that is neither turns nor weights. */
  readonly chosenBy?: string;
  /** What becomes of clients where there is no destination: nobody listens, or there is nobody to hand them on to. */
  readonly without: Statement;
}

export interface BalancerDestination {
  readonly ip: string;
  readonly port: number;
  /** 0: it gets no new connections. */
  readonly weight: number;
  readonly text: string;
  /** How many connections it was given, where that is counted. */
  readonly connections?: number;
}

/** What a virtual server or a relay is found by. */
export function balancerKey(protocol: string, address: string): string {
  return `${protocol.toLowerCase()} ${address}`;
}

export interface Table {
  readonly name: string;
  /** The interface of the kernel that it was loaded by: both kinds of iptables can be at work in one host. */
  readonly origin: TableOrigin;
  readonly chains: ReadonlyMap<string, Chain>;
  readonly sets: ReadonlyMap<string, ElementSet>;
}

export type TableOrigin = 'iptables' | 'iptables-legacy' | 'iptables-nft' | 'nftables' | 'ip_vs' | 'relay';

export interface Chain {
  readonly table: string;
  readonly origin: TableOrigin;
  readonly name: string;
  /** Present in base chains, the ones packets enter by. */
  readonly base?: BaseChain;
  readonly rules: readonly Rule[];
}

export interface BaseChain {
  readonly hook: Hook;
  /** Lower ones are asked first. */
  readonly priority: number;
  /** Nat chains are asked once for a connection. */
  readonly type: 'filter' | 'nat';
  readonly policy: 'accept' | 'drop';
}

export type Hook = 'prerouting' | 'input' | 'forward' | 'output' | 'postrouting';

export interface Rule {
  /** As its tool prints it. */
  readonly text: string;
  /** All must hold. */
  readonly matches: readonly Match[];
  /** Done in this order. */
  readonly statements: readonly Statement[];
}

/** `not`: the match holds where what it says does not. */
export type Match = { readonly not: boolean } & MatchKind;

export type MatchKind =
  | { readonly kind: 'network'; readonly field: 'src' | 'dst'; readonly cidr: string }
  | { readonly kind: 'range'; readonly field: 'src' | 'dst'; readonly from: string; readonly to: string }
  | { readonly kind: 'interface'; readonly direction: 'in' | 'out'; readonly name: string; readonly isPrefix: boolean }
  | { readonly kind: 'protocol'; readonly protocol: string }
  | { readonly kind: 'ports'; readonly field: 'src' | 'dst' | 'either'; readonly ranges: readonly PortRange[] }
  | { readonly kind: 'state'; readonly states: readonly string[] }
  | { readonly kind: 'mark'; readonly value: number; readonly mask: number }
  | { readonly kind: 'address-type'; readonly field: 'src' | 'dst'; readonly type: string }
  | { readonly kind: 'original-destination'; readonly cidr?: string; readonly ports?: PortRange }
  | { readonly kind: 'tcp-flags'; readonly among: readonly string[]; readonly set: readonly string[] }
  | { readonly kind: 'chance'; readonly probability: Fraction }
  | { readonly kind: 'remembered'; readonly list: string; readonly seconds: number | undefined }
  | { readonly kind: 'remember'; readonly list: string }
  /** `set`: the name of one of the table's, or the set itself. */
  | { readonly kind: 'element'; readonly key: readonly KeyPart[]; readonly set: string | ElementSet }
  /** A set of ipset; for each of its parts, which end of the packet is asked. */
  | { readonly kind: 'ip-set'; readonly set: string; readonly directions: readonly string[] }
  /** It came in by a port of a bridge. */
  | { readonly kind: 'bridged' }
  /** ip_vs has sent it on, and what for. */
  | { readonly kind: 'virtual-server'; readonly field: 'any' | 'ip' | 'protocol' | 'port'; readonly value: string }
  | { readonly kind: 'unknown'; readonly text: string };

/** Both ends included. */
export type PortRange = readonly [number, number];

export type Statement =
  | { readonly kind: 'accept' | 'drop' | 'return' }
  | { readonly kind: 'reject'; readonly with: string }
  | { readonly kind: 'jump' | 'goto'; readonly chain: string }
  /** `name`: what stands for a port that is not known before it is there. */
  | {
      readonly kind: 'dnat';
      readonly ip: string | undefined;
      readonly port: number | undefined;
      readonly name?: string;
    }
  | { readonly kind: 'snat'; readonly ip: string | undefined }
  | { readonly kind: 'masquerade' }
  | { readonly kind: 'redirect'; readonly port: number | undefined }
  /** mark = (mark & keep) ^ flip */
  | { readonly kind: 'mark'; readonly keep: number; readonly flip: number }
  | { readonly kind: 'connection-mark'; readonly keep: number; readonly flip: number }
  | { readonly kind: 'save-mark' | 'restore-mark' | 'untrack' }
  /** The verdict is looked up; where there is none, the next rule is asked. */
  | { readonly kind: 'verdict-map'; readonly key: readonly KeyPart[]; readonly map: string | ElementSet }
  /** The new destination is looked up, and with it the port unless that is given. */
  | {
      readonly kind: 'dnat-map';
      readonly key: readonly KeyPart[];
      readonly map: string | ElementSet;
      readonly port: number | undefined;
    }
  /** Adds the packet's key to a set or map, for later ones. */
  | { readonly kind: 'remember-in'; readonly set: string }
  /** ip_vs gives it another destination, and sends it there. */
  | { readonly kind: 'send-on'; readonly ip: string; readonly port: number }
  /** A process that has taken the connection makes one of its own. */
  | { readonly kind: 'connect'; readonly ip: string; readonly port: number }
  /** Leaves the packet and its way as they are: a log line, a counter. */
  | { readonly kind: 'note'; readonly name: string }
  | { readonly kind: 'unknown'; readonly text: string };

/** A part of a looked-up key: a field of the packet, or a number drawn for it. */
export type KeyPart =
  | { readonly kind: 'field'; readonly field: KeyField }
  | { readonly kind: 'draw'; readonly count: number; readonly offset: number };

export type KeyField =
  | 'src'
  | 'dst'
  | 'protocol'
  | 'src-port'
  | 'dst-port'
  | 'mark'
  | 'original-dst'
  | 'original-dst-port';

/** Elements by their text, parts joined with ` . `; in maps with the value's text, else with ''. */
export interface ElementSet {
  readonly name: string;
  readonly elements: ReadonlyMap<string, string>;
  /** How many packets each element was found by, where that is counted. */
  readonly packets: ReadonlyMap<string, number>;
  /** Elements that stand for many addresses: networks, or ranges with `-`. */
  readonly ranges: readonly { readonly text: string; readonly value: string }[];
  /** Rules add elements as packets pass, so who is in it depends on what came before. */
  readonly isDynamic: boolean;
}
