// What can go wrong between an API server and its clients, on demand. Tests switch faults on while the server runs; the
// handlers ask here before they answer.
import type { Verb } from './resources.ts';

/** Which requests a fault meets; absent means all. */
export interface FaultTarget {
  /** Plural name, `services`. */
  readonly resource?: string;
  readonly verb?: Verb;
  /** How many requests, then the fault is over; absent means until `clear`. */
  readonly times?: number;
}

export interface AnswerFault extends FaultTarget {
  readonly status: number;
  readonly retryAfterSeconds?: number;
}

type Fault =
  | { readonly kind: 'answer'; readonly status: number; readonly retryAfterSeconds: number | undefined }
  | { readonly kind: 'delay'; readonly ms: number }
  /** The connection stays open and nothing is ever sent. */
  | { readonly kind: 'hang' }
  /** Half the answer's bytes, then the connection is cut. */
  | { readonly kind: 'truncate' }
  /** Half of a watch event, then the connection is cut. */
  | { readonly kind: 'cut-event' };

interface Rule {
  readonly target: FaultTarget;
  readonly fault: Fault;
  left: number;
}

/** What faults do to the server itself; the server supplies it. */
export interface FaultEffects {
  cutConnections(): void;
  refuseConnections(): Promise<void>;
  acceptConnections(): Promise<void>;
  forgetChanges(): void;
  rewriteHistory(firstVersion: number): void;
  resumeStreams(): void;
  failStreams(target: FaultTarget, status: number): void;
  sendBookmarks(): void;
}

export class Faults {
  readonly #effects: FaultEffects;
  #rules: Rule[] = [];
  #stalled: FaultTarget[] = [];
  #dropsBookmarks = false;

  constructor(effects: FaultEffects) {
    this.#effects = effects;
  }

  /** Answers with an error instead: 410, 429 and 500 in Kubernetes' words, others plainly. */
  answer({ status, retryAfterSeconds, ...target }: AnswerFault): void {
    this.#add(target, { kind: 'answer', status, retryAfterSeconds });
  }

  delay(ms: number, target: FaultTarget = {}): void {
    this.#add(target, { kind: 'delay', ms });
  }

  hang(target: FaultTarget = {}): void {
    this.#add(target, { kind: 'hang' });
  }

  /** Ends answers after half a JSON document. */
  truncate(target: FaultTarget = {}): void {
    this.#add(target, { kind: 'truncate' });
  }

  /** Cuts the connection in the middle of the next watch events. */
  cutMidEvent(target: FaultTarget = {}): void {
    this.#add(target, { kind: 'cut-event' });
  }

  /** Watches stay open but carry no bytes, until `resume`. */
  stall(target: FaultTarget = {}): void {
    this.#stalled.push(target);
  }

  resume(): void {
    this.#stalled = [];
    this.#effects.resumeStreams();
  }

  dropBookmarks(drop = true): void {
    this.#dropsBookmarks = drop;
  }

  /** Sends a bookmark on every watch that allows them, without waiting for the interval. */
  sendBookmarks(): void {
    this.#effects.sendBookmarks();
  }

  /** Ends open watches with an ERROR event, as when a server's own store has moved on. */
  failWatches(status: number, target: FaultTarget = {}): void {
    this.#effects.failStreams(target, status);
  }

  /** Cuts every open connection now. */
  cutConnections(): void {
    this.#effects.cutConnections();
  }

  /** The port is closed: new connections are refused and open ones cut, until `acceptConnections`. */
  refuseConnections(): Promise<void> {
    return this.#effects.refuseConnections();
  }

  acceptConnections(): Promise<void> {
    return this.#effects.acceptConnections();
  }

  /** Forgets past changes, so that watches from older versions are answered with 410. */
  expireVersions(): void {
    this.#effects.forgetChanges();
  }

  /** As after restoring a backup: connections are cut, versions count anew from a lower number, the past is forgotten. */
  restart({ firstVersion = 1 }: { readonly firstVersion?: number } = {}): void {
    this.#effects.rewriteHistory(firstVersion);
    this.#effects.cutConnections();
  }

  /** Ends all faults but refused connections. */
  clear(): void {
    this.#rules = [];
    this.#dropsBookmarks = false;
    this.resume();
  }

  /** For the handlers: the fault this request meets, which then has one time less to go. */
  take<K extends Fault['kind']>(kind: K, resource: string, verb: Verb): Extract<Fault, { kind: K }> | undefined {
    const rule = this.#rules.find((r) => r.fault.kind === kind && hits(r.target, resource, verb));
    if (!rule) return undefined;
    rule.left--;
    if (rule.left <= 0) this.#rules = this.#rules.filter((other) => other !== rule);
    return rule.fault as Extract<Fault, { kind: K }>;
  }

  isStalled(resource: string): boolean {
    return this.#stalled.some((target) => hits(target, resource, 'watch'));
  }

  get dropsBookmarks(): boolean {
    return this.#dropsBookmarks;
  }

  #add(target: FaultTarget, fault: Fault): void {
    this.#rules.push({ target, fault, left: target.times ?? Number.POSITIVE_INFINITY });
  }
}

function hits(target: FaultTarget, resource: string, verb: Verb): boolean {
  return (target.resource ?? resource) === resource && (target.verb ?? verb) === verb;
}
