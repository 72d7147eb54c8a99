// Where packets meet something else in IPVS mode than was recorded of iptables and nftables mode, and why.
import type { Expected, GoldenProbe } from '../../support/golden.ts';

export interface Difference {
  readonly because: string;
  readonly expect: Expected;
}

/** Undefined where none is known. */
export function differenceOf(name: string, step: number, probe: GoldenProbe): Difference | undefined {
  return DIFFERENCES.find(
    (difference) =>
      difference.name === name &&
      difference.step === step &&
      'to' in probe &&
      difference.from === probe.from &&
      difference.to === probe.to,
  );
}

const UNREACHABLE = { failed: ['icmp-unreachable'] };
const EMPTY_LIST = 'a virtual server without real servers answers that the port is unreachable; it cannot keep silent';

const DIFFERENCES: readonly (Difference & {
  readonly name: string;
  readonly step: number;
  readonly from: string;
  readonly to: string;
})[] = [
  ['external-ips-local', 1, 'x', '198.51.100.10:80'] as const,
  ['external-policy-local-none-here', 0, 'x', '192.168.50.1:30080'] as const,
  ['internal-policy-local-none-here', 0, 'a1', '10.96.10.13:80'] as const,
  ['internal-policy-local-none-here', 0, 'n1', '10.96.10.13:80'] as const,
  ['loadbalancer-local', 1, 'x', '203.0.113.10:80'] as const,
].map(([name, step, from, to]) => ({ name, step, from, to, expect: UNREACHABLE, because: EMPTY_LIST }));
