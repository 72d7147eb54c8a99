// nftables mode, as one value.
import type { Mode } from '../mode.ts';
import { apply, type NftablesDriver, read } from './apply.ts';
import { diff, type KernelState, type NftablesChange } from './diff.ts';
import type { NftablesFacts } from './facts.ts';
import { type NftablesPlan, plan } from './plan.ts';
import { print } from './print.ts';

export const nftablesMode: Mode<NftablesFacts, NftablesPlan, KernelState, NftablesChange, NftablesDriver> = {
  name: 'nftables',
  plan,
  print,
  diff,
  read,
  apply,
};
