// One sync of one IP family: from what the cluster says to what the kernel holds. Every step of Portolan is named here.
import { type FlowTargets, flowTargets } from './flows/targets.ts';
import type { Family } from './lib/ip.ts';
import type { NodeModel } from './model/model.ts';
import { type NodeIdentity, resolveNode } from './model/resolve.ts';
import type { Mode } from './modes/mode.ts';
import type { Snapshot } from './track/snapshot.ts';
import type { Tracker } from './track/tracker.ts';

/** What one family's syncs go by, and what they have found out so far. */
export interface FamilyState<Facts, Plan, Held, Change, Drivers> {
  readonly family: Family;
  readonly tracker: Tracker;
  readonly identity: NodeIdentity;
  readonly mode: Mode<Facts, Plan, Held, Change, Drivers>;
  readonly drivers: Drivers;
  /** Probes what the mode must know of the machine. */
  readonly probe: () => Promise<Facts>;
  model?: NodeModel;
  /** Where UDP flows may lead; what led elsewhere before waits in it to be cleaned up. */
  flows?: FlowTargets;
  plan?: Plan;
  /** Undefined: unknown, so the next sync reads the kernel and writes everything. */
  held: Held | Plan | undefined;
  /** What successful syncs are to account for; a failed one leaves it to the next. */
  owed: Owed;
}

export interface Owed {
  /** When changed endpoints changed in the cluster, in milliseconds since 1970. */
  readonly triggerTimes: readonly number[];
  /** True if endpoints or addresses of a UDP service changed, so that flows may lead nowhere. */
  readonly staleFlows: boolean;
  /** True if it was not known what the kernel held: while it held something else, flows of any kind may have gone astray. */
  readonly strayFlows: boolean;
}

export const NOTHING_OWED: Owed = { triggerTimes: [], staleFlows: false, strayFlows: false };

export interface SyncReport<Plan = unknown, Change = unknown> {
  readonly family: Family;
  readonly snapshot: Snapshot;
  readonly model: NodeModel;
  readonly flows: FlowTargets;
  readonly plan: Plan;
  readonly change: Change;
  /** True if the kernel was read first. */
  readonly wasFull: boolean;
  /** When each step ended, in milliseconds since the sync began. */
  readonly stages: readonly { readonly name: 'probe' | 'plan' | 'diff' | 'apply'; readonly atMs: number }[];
}

export async function sync<Facts, Plan, Held, Change, Drivers>(
  node: FamilyState<Facts, Plan, Held, Change, Drivers>,
): Promise<SyncReport<Plan, Change>> {
  const startedAt = performance.now();
  const stages: { name: 'probe' | 'plan' | 'diff' | 'apply'; atMs: number }[] = [];
  const ended = (name: (typeof stages)[number]['name']): number =>
    stages.push({ name, atMs: performance.now() - startedAt });

  const facts = await node.probe(); //                                  kernel/  what this machine is like
  ended('probe');
  const snapshot = node.tracker.take(node.family); //                   track/   what the cluster says, and what changed
  const model = resolveNode(snapshot, node.identity, node.model); //    model/   what this node owes its clients
  const plan = node.mode.plan(model, facts, node.plan); //              modes/   what the kernel should hold
  node.flows = flowTargets(model, node.flows); //                       flows/   where UDP flows may lead
  node.owed = {
    triggerTimes: [...node.owed.triggerTimes, ...snapshot.triggerTimes],
    staleFlows: node.owed.staleFlows || model.changedUdp,
    strayFlows: node.owed.strayFlows || node.held === undefined,
  };
  node.model = model;
  node.plan = plan;
  ended('plan');

  const wasFull = node.held === undefined;
  const held = node.held ?? (await node.mode.read(node.drivers));
  const change = node.mode.diff(held, plan); //                         modes/   the steps from held to wanted
  ended('diff');
  node.held = undefined; // unknown until apply returns, so after a failure the next sync reads the kernel again
  await node.mode.apply(node.drivers, change); //                       kernel/  the effects
  node.held = plan;
  ended('apply');
  return { family: node.family, snapshot, model, flows: node.flows, plan, change, wasFull, stages };
}
