// iptables mode, as one value.
import type { Iptables } from '../../kernel/iptables.ts';
import type { Mode } from '../mode.ts';
import { apply, read } from './apply.ts';
import { diff, type IptablesChange, type KernelState } from './diff.ts';
import type { IptablesFacts } from './facts.ts';
import { type IptablesPlan, plan } from './plan.ts';
import { print } from './print.ts';

export const iptablesMode: Mode<IptablesFacts, IptablesPlan, KernelState, IptablesChange, Iptables> = {
  name: 'iptables',
  plan,
  print,
  diff,
  read,
  apply,
};
