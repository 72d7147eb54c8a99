// In: the NodeModel.  Out: every rule of iptables mode, a part for each service.
// Only changed services are planned; what their parts were before comes along, so that diff.ts sees nothing else either.
import { isDeepStrictEqual } from 'node:util';
import type { NodeModel, ServiceModel } from '../../model/model.ts';
import type { IptablesFacts } from './facts.ts';
import { type FixedPart, fixedPart } from './fixed.ts';
import { type PortRules, portRules } from './rules.ts';

export interface IptablesPlan {
  readonly facts: IptablesFacts;
  readonly fixed: FixedPart;
  /** By `namespace/name`. */
  readonly services: ReadonlyMap<string, ServicePart>;
  /** The parts that this plan replaced, undefined for services that are new. */
  readonly replaced: ReadonlyMap<string, ServicePart | undefined>;
  /** The fixed part before, if it was another. */
  readonly replacedFixed: FixedPart | undefined;
  /** Counts up from plan to plan: a diff is only right against the plan directly before. */
  readonly generation: number;
  readonly isLargeCluster: boolean;
  readonly ruleCounts: RuleCounts;
}

/** The rules of each port of one service. */
export type ServicePart = readonly PortRules[];

export interface RuleCounts {
  readonly filter: number;
  readonly nat: number;
}

/** From here on upstream saves on comments. Services are rewritten when they change, not when the cluster crosses this. */
const LARGE_CLUSTER_ENDPOINTS = 1000;

export function plan(model: NodeModel, facts: IptablesFacts, previous?: IptablesPlan): IptablesPlan {
  const fixed = fixedPart(facts);
  const isLargeCluster = model.endpointCount > LARGE_CLUSTER_ENDPOINTS;
  const isFresh = previous === undefined || model.isFresh || !sameForServices(previous.facts, facts);
  const services = isFresh ? new Map<string, ServicePart>() : (previous.services as Map<string, ServicePart>);
  const replaced = new Map<string, ServicePart | undefined>(isFresh ? previous?.services : undefined);
  let { filter, nat } = isFresh ? countFixed(fixed) : changeOfFixed(previous, fixed);

  for (const name of isFresh ? model.services.keys() : model.changed) {
    const before = isFresh ? undefined : services.get(name);
    const service = model.services.get(name);
    const after = service && servicePart(service, facts, isLargeCluster);
    if (!replaced.has(name)) replaced.set(name, before);
    if (after) services.set(name, after);
    else services.delete(name);
    filter += count(after, filterRules) - count(before, filterRules);
    nat += count(after, natRules) - count(before, natRules);
  }
  return {
    facts,
    fixed,
    services,
    replaced,
    replacedFixed: previous && !isDeepStrictEqual(previous.fixed, fixed) ? previous.fixed : undefined,
    generation: (previous?.generation ?? 0) + 1,
    isLargeCluster,
    ruleCounts: { filter, nat },
  };
}

function servicePart(service: ServiceModel, facts: IptablesFacts, terse: boolean): ServicePart {
  return service.ports.map((port) => portRules(port, facts, terse));
}

/** Services need not be planned anew when only the node-port addresses differ: these stand in the fixed part alone. */
function sameForServices(a: IptablesFacts, b: IptablesFacts): boolean {
  return a === b || isDeepStrictEqual({ ...a, nodePortAddresses: 0 }, { ...b, nodePortAddresses: 0 });
}

const filterRules = (rules: PortRules): number => rules.filter.length;
const natRules = (rules: PortRules): number => rules.natDispatch.length + rules.natRules.length;

function count(part: ServicePart | undefined, of: (rules: PortRules) => number): number {
  return part?.reduce((sum, rules) => sum + of(rules), 0) ?? 0;
}

function countFixed(fixed: FixedPart): RuleCounts {
  return {
    filter: fixed.filterHead.length + fixed.filterTail.length,
    nat: fixed.natHead.length + fixed.natTail.length,
  };
}

function changeOfFixed(previous: IptablesPlan, fixed: FixedPart): RuleCounts {
  const before = countFixed(previous.fixed);
  const after = countFixed(fixed);
  return {
    filter: previous.ruleCounts.filter + after.filter - before.filter,
    nat: previous.ruleCounts.nat + after.nat - before.nat,
  };
}
