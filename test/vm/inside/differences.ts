// Where packets meet something else in IPVS mode than was recorded of iptables and nftables mode, and why.
import { type Difference, isAmong, KEPT_SILENT } from '../../support/differences.ts';
import type { GoldenProbe } from '../../support/golden.ts';

/** Undefined where none is known. */
export function differenceOf(name: string, step: number, probe: GoldenProbe): Difference | undefined {
  return isAmong(KEPT_SILENT, name, step, probe) ? ANSWERED : undefined;
}

const ANSWERED: Difference = {
  because: 'a virtual server without real servers answers that the port is unreachable; it cannot keep silent',
  expect: { failed: ['icmp-unreachable'] },
};
