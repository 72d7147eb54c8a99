// In: the NodeModel.  Out: everything the kernel should hold in IPVS mode, a part for each service.
// Only changed services are planned. What several services share is counted, so that the last one takes it away.
import { isDeepStrictEqual } from 'node:util';
import { entryText } from '../../kernel/ipset-codec.ts';
import type { NodeModel } from '../../model/model.ts';
import type { IpvsFacts } from './facts.ts';
import { type Difference, Ledger } from './ledger.ts';
import { type ServicePart, serverKey, servicePart, type WantedEntry, type WantedServer } from './part.ts';
import { type IpvsRules, ipvsRules } from './rules.ts';
import { SET_NAMES, type SetName } from './sets.ts';

export interface IpvsPlan {
  readonly facts: IpvsFacts;
  /** By `namespace/name`. */
  readonly services: ReadonlyMap<string, ServicePart>;
  readonly wanted: Wanted;
  /** Sets that are not empty: rules refer to no others. */
  readonly filledSets: readonly SetName[];
  readonly rules: IpvsRules;
  /** What differs from the plan before. */
  readonly differences: Differences;
  /** Counts up from plan to plan: a diff is only right against the plan directly before. */
  readonly generation: number;
}

/** What all services want together. */
export interface Wanted {
  readonly servers: Ledger<WantedServer>;
  readonly entries: Ledger<WantedEntry>;
  readonly addresses: Ledger<string>;
  readonly outFilter: Ledger<string>;
  readonly localClients: Ledger<string>;
  /** How many entries each set has. */
  readonly entryCounts: ReadonlyMap<SetName, number>;
}

export interface Differences {
  readonly servers: readonly Difference<WantedServer>[];
  readonly entries: readonly Difference<WantedEntry>[];
  readonly addresses: readonly Difference<string>[];
  readonly rules: boolean;
}

export function plan(model: NodeModel, facts: IpvsFacts, previous?: IpvsPlan): IpvsPlan {
  const hasSameFacts = previous !== undefined && isDeepStrictEqual(previous.facts, facts);
  const isFresh = model.isFresh || !hasSameFacts;
  const services = (previous?.services ?? new Map()) as Map<string, ServicePart>;
  const wanted = previous?.wanted ?? nothingWanted();
  const names = isFresh ? new Set([...services.keys(), ...model.services.keys()]) : model.changed;

  for (const name of names) {
    const before = services.get(name);
    const service = model.services.get(name);
    const after = service && servicePart(service, facts);
    if (before) release(wanted, name, before);
    if (after) claim(wanted, name, after);
    if (after) services.set(name, after);
    else services.delete(name);
  }
  const entries = wanted.entries.takeDifferences();
  count(wanted.entryCounts as Map<SetName, number>, entries);
  const changedRules = [...wanted.outFilter.takeDifferences(), ...wanted.localClients.takeDifferences()];
  const filledSets = SET_NAMES.filter((set) => (wanted.entryCounts.get(set) ?? 0) > 0);
  const isSame = hasSameFacts && changedRules.length === 0 && isDeepStrictEqual(previous.filledSets, filledSets);
  const rules = isSame
    ? previous.rules
    : ipvsRules(facts, {
        hasEntries: (set) => filledSets.includes(set),
        outFilter: [...wanted.outFilter.values()],
        localClients: [...wanted.localClients.values()],
      });
  return {
    facts,
    services,
    wanted,
    filledSets,
    rules,
    differences: {
      servers: wanted.servers.takeDifferences(),
      entries,
      addresses: wanted.addresses.takeDifferences(),
      rules: rules !== previous?.rules,
    },
    generation: (previous?.generation ?? 0) + 1,
  };
}

function nothingWanted(): Wanted {
  return {
    servers: new Ledger(),
    entries: new Ledger(),
    addresses: new Ledger(),
    outFilter: new Ledger(),
    localClients: new Ledger(),
    entryCounts: new Map(),
  };
}

function claim(wanted: Wanted, owner: string, part: ServicePart): void {
  for (const server of part.servers) wanted.servers.claim(owner, serverKey(server), server);
  for (const entry of part.entries) wanted.entries.claim(owner, entryKey(entry), entry);
  for (const ip of part.addresses) wanted.addresses.claim(owner, ip, ip);
  for (const [i, rule] of part.outFilter.entries()) wanted.outFilter.claim(owner, ruleKey(owner, i), rule);
  for (const [i, rule] of part.localClients.entries()) wanted.localClients.claim(owner, ruleKey(owner, i), rule);
}

function release(wanted: Wanted, owner: string, part: ServicePart): void {
  for (const server of part.servers) wanted.servers.release(owner, serverKey(server));
  for (const entry of part.entries) wanted.entries.release(owner, entryKey(entry));
  for (const ip of part.addresses) wanted.addresses.release(owner, ip);
  for (const i of part.outFilter.keys()) wanted.outFilter.release(owner, ruleKey(owner, i));
  for (const i of part.localClients.keys()) wanted.localClients.release(owner, ruleKey(owner, i));
}

export function entryKey({ set, entry }: WantedEntry): string {
  return `${set} ${entryText(entry)}`;
}

/** Sorts by service, then as the service has its rules. */
function ruleKey(owner: string, index: number): string {
  return `${owner} ${String(index).padStart(5, '0')}`;
}

function count(counts: Map<SetName, number>, differences: readonly Difference<WantedEntry>[]): void {
  for (const { before, after } of differences) {
    const { set } = (before ?? after)!;
    counts.set(set, (counts.get(set) ?? 0) + (after ? 1 : 0) - (before ? 1 : 0));
  }
}
