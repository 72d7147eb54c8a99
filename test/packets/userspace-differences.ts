// Where packets meet something else in userspace mode than was recorded of iptables mode, and why.
import { type Difference, isAmong, KEPT_SILENT, type Place } from '../support/differences.ts';
import type { Expected, GoldenProbe } from '../support/golden.ts';

/** What is to be expected through relays, where iptables mode is known to give `recorded`. */
export function throughRelays(name: string, step: number, probe: GoldenProbe, recorded: Expected): Difference {
  const isOneOf = (places: readonly Place[]): boolean => isAmong(places, name, step, probe);
  if (isOneOf(KEPT_SILENT) || isOneOf(LED_FROM_THE_NODE)) return ACCEPTED_FIRST;
  if (isOneOf(ON_LOOPBACK)) return LOOPBACK_TOO;
  if (recorded.answered) {
    const answered = Object.fromEntries(Object.keys(recorded.answered).map((pod) => [pod, ['node']]));
    return { because: 'a backend sees the node that relays, never the client', expect: { ...recorded, answered } };
  }
  if (recorded.failed?.[0] !== 'icmp-unreachable' || !('proto' in probe))
    return { because: 'no difference', expect: recorded };
  return probe.proto === 'tcp' ? ACCEPTED_FIRST : DROPPED;
}

const LED_FROM_THE_NODE: readonly Place[] = [
  ['no-endpoints', 0, 'n1', '203.0.113.10:80'],
  ['no-endpoints', 0, 'n1', '198.51.100.10:80'],
];
const ON_LOOPBACK: readonly Place[] = [['ipv6', 0, 'n1', '[::1]:30080']];

const ACCEPTED_FIRST: Difference = {
  because: 'the relay has accepted the connection before it knows that nobody answers, so it resets it',
  expect: { failed: ['refused'] },
};
const DROPPED: Difference = {
  because: 'a relay can only drop a datagram that it has nobody for',
  expect: { failed: ['timeout'] },
};
const LOOPBACK_TOO: Difference = {
  because:
    'node ports of the node itself are led to the relay before anybody asks where they go, so loopback has them too',
  expect: { answered: { 'a1:8080': ['node'], 'b1:8080': ['node'] } },
};
