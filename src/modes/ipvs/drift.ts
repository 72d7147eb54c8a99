// What foreign hands did to IPVS state: the kernel reports no such changes by itself, so now and then it is read and compared.
import { entryText } from '../../kernel/ipset-codec.ts';
import { serverText } from '../../kernel/ipvs-codec.ts';
import { assertNever } from '../../lib/assert.ts';
import { hostPort } from '../../lib/ip.ts';
import { type IpvsDrivers, readBeside } from './apply.ts';
import { foundOtherRules } from './chains.ts';
import { diff, type IpvsStep } from './diff.ts';
import type { IpvsPlan } from './plan.ts';
import { kernelName } from './sets.ts';

/** A line for people, or undefined if everything is as it was written. Servers that are not ours are nobody's business.
 *  `held`: the plan that the kernel should hold; undefined while it is being changed. */
export async function foundDifference(
  drivers: IpvsDrivers,
  held: () => IpvsPlan | undefined,
): Promise<string | undefined> {
  const before = held();
  if (!before) return undefined;
  const save = await drivers.iptables.save();
  const state = await readBeside(drivers, save);
  if (held() !== before) return undefined; // a sync came between; it knows better
  const texts = diff(state, before).steps.map((step) => textOf(step, drivers));
  return texts.find((text) => text !== undefined) ?? foundOtherRules(save, before.rules);
}

/** What the step would mend; undefined where nothing is amiss. */
function textOf(step: IpvsStep, { family, drain }: IpvsDrivers): string | undefined {
  switch (step.kind) {
    case 'prepare': // these two are part of every full change
    case 'restore':
      return undefined;
    case 'add-server':
      return `virtual server ${serverText(step.server)} is gone`;
    case 'set-server':
      return `virtual server ${serverText(step.server)} was changed`;
    case 'delete-server':
      return `virtual server ${serverText(step.server)} was added`;
    case 'add-backend':
      return `real server ${backendText(step)} is gone`;
    case 'set-backend':
      return `real server ${backendText(step)} has another weight`;
    case 'remove-backend':
      return drain.isDraining(step.server, step.backend) ? undefined : `real server ${backendText(step)} was added`;
    case 'add-entry':
      return `entry ${entryText(step.entry)} of set ${kernelName(step.set, family)} is gone`;
    case 'delete-entry':
      return `entry ${entryText(step.entry)} of set ${kernelName(step.set, family)} was added`;
    case 'add-address':
      return `address ${step.ip} is gone`;
    case 'delete-address':
      return `address ${step.ip} was added`;
    default:
      return assertNever(step);
  }
}

function backendText({ server, backend }: Extract<IpvsStep, { readonly backend: unknown }>): string {
  return `${hostPort(backend.ip, backend.port)} of ${serverText(server)}`;
}
