// Userspace mode, as one value.
import type { Mode } from '../mode.ts';
import { apply, read, type UserspaceDrivers } from './apply.ts';
import { diff, type UserspaceChange, type UserspaceState } from './diff.ts';
import type { UserspaceFacts } from './facts.ts';
import { plan, type UserspacePlan } from './plan.ts';
import { print } from './print.ts';

export const userspaceMode: Mode<UserspaceFacts, UserspacePlan, UserspaceState, UserspaceChange, UserspaceDrivers> = {
  name: 'userspace',
  plan,
  print,
  diff,
  read,
  apply,
};
