// Where packets meet something else in a mode than was recorded of iptables and nftables mode, and why.
import type { Expected, GoldenProbe } from './golden.ts';

export interface Difference {
  readonly because: string;
  readonly expect: Expected;
}

/** One probe of a recorded cluster. */
export type Place = readonly [name: string, step: number, from: string, to: string];

/** Under policy Local nobody here serves it, and it was dropped without a word. */
export const KEPT_SILENT: readonly Place[] = [
  ['external-ips-local', 1, 'x', '198.51.100.10:80'],
  ['external-policy-local-none-here', 0, 'x', '192.168.50.1:30080'],
  ['internal-policy-local-none-here', 0, 'a1', '10.96.10.13:80'],
  ['internal-policy-local-none-here', 0, 'n1', '10.96.10.13:80'],
  ['loadbalancer-local', 1, 'x', '203.0.113.10:80'],
];

export function isAmong(places: readonly Place[], name: string, step: number, probe: GoldenProbe): boolean {
  return (
    'to' in probe &&
    places.some(
      ([placeName, placeStep, from, to]) =>
        placeName === name && placeStep === step && from === probe.from && to === probe.to,
    )
  );
}
