// The JSON behind the console, as the page and other programs read it. docs/console.md tells what asks for which.
// Types alone: the page imports them too, and nothing of the agent with them.
import type { Family } from '../../lib/ip.ts';
import type { FrontendKind, LeftOutReason, TrafficClass } from '../../model/model.ts';

/** `GET api/nodes`: whose agents this page can ask. An agent names itself alone; the lab names all. */
export interface NodesShape {
  readonly nodes: readonly {
    readonly name: string;
    /** In front of `api/…`; '' or `nodes/NAME/`. */
    readonly base: string;
  }[];
}

/** `GET api/node` */
export interface NodeShape {
  readonly name: string;
  readonly mode: string;
  readonly version: string;
  readonly families: readonly Family[];
  readonly ips: readonly string[];
  readonly podCIDRs: readonly string[];
  readonly zone: string | undefined;
  readonly services: number;
  /** Endpoints over all service ports. */
  readonly endpoints: number;
  /** True if rules count connections, so that there are rates. */
  readonly hasCounters: boolean;
  readonly lastSync: ChangeShape | undefined;
  readonly problems: number;
}

/** `GET api/services?search=&sort=name|rate&offset=&limit=` */
export interface ServicesShape {
  readonly total: number;
  readonly matching: number;
  readonly offset: number;
  readonly services: readonly ServiceRow[];
}

export interface ServiceRow {
  /** `shop/cart` */
  readonly name: string;
  /** `http 80/TCP` */
  readonly ports: readonly string[];
  readonly addresses: readonly string[];
  /** Distinct endpoints that are used, and those that are not. */
  readonly used: number;
  readonly leftOut: number;
  /** What clients get: `balance`, or the worst of its ports. */
  readonly verdict: TrafficClass['verdict'];
  /** New connections per second; 0 while nobody counts. */
  readonly rate: number;
}

/** `GET api/services/NAMESPACE/NAME` */
export interface ServiceShape {
  readonly name: string;
  readonly ports: readonly PortShape[];
}

/** One port in one IP family. */
export interface PortShape {
  readonly id: string;
  readonly family: Family;
  readonly displayName: string;
  readonly protocol: string;
  readonly internal: TrafficClass;
  readonly external: TrafficClass;
  readonly affinityTimeoutSeconds: number;
  readonly sourceRanges: readonly string[];
  readonly picture: Picture;
  readonly leftOut: readonly LeftOutShape[];
  /** Its rules, as planned, in the words of the mode's own tool. */
  readonly rules: readonly string[];
}

/** What tutorials draw by hand: addresses, the chains they lead through, endpoints. */
export interface Picture {
  readonly nodes: readonly PictureNode[];
  readonly edges: readonly PictureEdge[];
}

export type PictureNode =
  | {
      readonly kind: 'frontend';
      readonly id: string;
      readonly address: string;
      readonly frontend: FrontendKind;
    }
  | { readonly kind: 'chain'; readonly id: string; readonly name: string; readonly role: string }
  | {
      readonly kind: 'endpoint';
      readonly id: string;
      readonly address: string;
      readonly node: string | undefined;
      readonly zone: string | undefined;
      readonly target: string | undefined;
      readonly slice: string;
      readonly isLocal: boolean;
      readonly isTerminating: boolean;
      /** The chain that translates to it, where it has one. */
      readonly chain: string | undefined;
    }
  | { readonly kind: 'end'; readonly id: string; readonly verdict: 'reject' | 'drop' };

export interface PictureEdge {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  /** Of what comes to `from`: `1/3`. Absent where it hangs on who asks. */
  readonly share: string | undefined;
  readonly probability: number | undefined;
  /** Whom the edge is for, where it is not for everybody. */
  readonly condition: string | undefined;
  readonly rules: readonly string[];
  /** Its name in counters. */
  readonly counter: string | undefined;
}

export interface LeftOutShape {
  readonly address: string;
  readonly node: string | undefined;
  readonly target: string | undefined;
  readonly slice: string;
  readonly reason: LeftOutReason;
  readonly text: string;
}

/** `GET api/timeline`: the last changes, youngest first. */
export interface TimelineShape {
  readonly changes: readonly ChangeShape[];
}

/** One sync that changed something. */
export interface ChangeShape {
  readonly number: number;
  /** Milliseconds since 1970, when the kernel had it. */
  readonly at: number;
  readonly family: Family;
  /** The first of those that changed. */
  readonly services: readonly string[];
  readonly changed: number;
  /** True if the kernel was read first and all was written. */
  readonly wasFull: boolean;
  /** How long each stage took. */
  readonly stages: readonly { readonly name: string; readonly ms: number }[];
  readonly totalMs: number;
  /** From the endpoints' change in the cluster until the kernel had it, where that is known. */
  readonly sinceChangeMs: number | undefined;
}

/** `GET api/problems` */
export interface ProblemsShape {
  /** Parts of objects that were ignored. */
  readonly objects: readonly { readonly object: string; readonly field: string; readonly reason: string }[];
  /** What went wrong on this node lately, youngest first. */
  readonly troubles: readonly TroubleShape[];
}

export interface TroubleShape {
  readonly number: number;
  readonly at: number;
  readonly family: Family;
  readonly kind: 'drift' | 'sync-failed';
  readonly text: string;
  /** When a later sync put it right. */
  readonly mendedAt: number | undefined;
}

/** `GET api/verify`: packets walked through the kernel's rules, for every address and kind of client. */
export interface VerifyShape {
  readonly at: number;
  readonly milliseconds: number;
  readonly cases: number;
  readonly services: number;
  readonly agrees: boolean;
  readonly mismatches: readonly {
    readonly service: string;
    readonly frontend: string;
    readonly client: string;
    readonly expected: readonly string[];
    readonly actual: readonly string[];
    readonly cause: string;
  }[];
  readonly unjudged: number;
  readonly drift: readonly string[];
}

/** `GET api/counters?service=NAMESPACE/NAME`, and the event `rates` of `api/events`. */
export interface RatesShape {
  readonly at: number;
  /** New connections per second, of services that have any; the busiest first. */
  readonly services: readonly (readonly [name: string, rate: number])[];
  readonly total: number;
  /** Of the service that was asked for, by the edges' counters. */
  readonly edges: Readonly<Record<string, EdgeRate>>;
}

export interface EdgeRate {
  /** Per second. */
  readonly rate: number;
  /** Since the rule was written. */
  readonly count: number;
}

/** `GET api/map`: where endpoints are. */
export interface MapShape {
  readonly node: string;
  readonly nodes: readonly {
    readonly name: string;
    readonly zone: string | undefined;
    readonly endpoints: readonly MapEndpoint[];
    /** Beyond those that are listed. */
    readonly more: number;
  }[];
}

export interface MapEndpoint {
  readonly target: string;
  readonly ip: string;
  readonly services: readonly string[];
  readonly counters: readonly string[];
}

/** What `api/events` sends: lines of `event:` and `data:`. */
export interface ConsoleEvents {
  readonly change: ChangeShape;
  readonly trouble: TroubleShape;
  readonly rates: RatesShape;
}
