// IPVS mode, as one value.
import type { Mode } from '../mode.ts';
import { apply, type IpvsDrivers, read } from './apply.ts';
import { diff, type IpvsChange, type IpvsState } from './diff.ts';
import type { IpvsFacts } from './facts.ts';
import { type IpvsPlan, plan } from './plan.ts';
import { print } from './print.ts';

export const ipvsMode: Mode<IpvsFacts, IpvsPlan, IpvsState, IpvsChange, IpvsDrivers> = {
  name: 'ipvs',
  plan,
  print,
  diff,
  read,
  apply,
};
