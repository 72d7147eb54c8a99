// The contract of a proxy mode: from the model to what the kernel should hold, and from what it holds to the changes.
// All of it but read and apply is pure. The kernel's drivers arrive as an argument.
import type { NodeModel } from '../model/model.ts';

export const MODES = ['iptables', 'nftables', 'ipvs', 'userspace'] as const;
export type ModeName = (typeof MODES)[number];

/**
 * `Facts`: what the mode must know of the machine and of its configuration, as plain data.
 * `Plan`: what the kernel should hold; unchanged services keep their part's identity from plan to plan.
 * `Held`: what can be read back of the kernel.
 * `Change`: what apply sends; it can be printed.
 */
export interface Mode<Facts, Plan, Held, Change, Drivers> {
  readonly name: ModeName;
  /** `previous` gives up its unchanged parts to the new plan and must not be used afterwards. */
  plan(model: NodeModel, facts: Facts, previous?: Plan): Plan;
  print(plan: Plan): string;
  /** `held`: the plan before, if the kernel is known to hold it, else what was read. */
  diff(held: Held | Plan, plan: Plan): Change;
  read(drivers: Drivers): Promise<Held>;
  apply(drivers: Drivers, change: Change): Promise<void>;
}
