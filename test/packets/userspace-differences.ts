// Where packets meet something else in userspace mode than was recorded of iptables mode, and why.
import type { Expected, GoldenProbe } from '../support/golden.ts';

export interface UserspaceDifference {
  readonly because: string;
  readonly expect: Expected;
}

/** What is to be expected through relays, where iptables mode is known to give `recorded`. */
export function throughRelays(name: string, step: number, probe: GoldenProbe, recorded: Expected): UserspaceDifference {
  const listed = DIFFERENCES.find(
    (difference) =>
      difference.name === name &&
      difference.step === step &&
      'to' in probe &&
      difference.from === probe.from &&
      difference.to === probe.to,
  );
  if (listed) return listed;
  if (recorded.answered) {
    const answered = Object.fromEntries(Object.keys(recorded.answered).map((pod) => [pod, ['node']]));
    return { because: 'a backend sees the node that relays, never the client', expect: { ...recorded, answered } };
  }
  if (recorded.failed?.[0] !== 'icmp-unreachable' || !('proto' in probe))
    return { because: 'no difference', expect: recorded };
  return probe.proto === 'tcp'
    ? { because: ACCEPTED_FIRST, expect: RESET }
    : { because: 'a relay can only drop a datagram that it has nobody for', expect: { failed: ['timeout'] } };
}

const ACCEPTED_FIRST = 'the relay has accepted the connection before it knows that nobody answers, so it resets it';
const RESET: Expected = { failed: ['refused'] };

const DIFFERENCES: readonly (UserspaceDifference & {
  readonly name: string;
  readonly step: number;
  readonly from: string;
  readonly to: string;
})[] = [
  ...[
    ['external-ips-local', 1, 'x', '198.51.100.10:80'] as const,
    ['external-policy-local-none-here', 0, 'x', '192.168.50.1:30080'] as const,
    ['internal-policy-local-none-here', 0, 'a1', '10.96.10.13:80'] as const,
    ['internal-policy-local-none-here', 0, 'n1', '10.96.10.13:80'] as const,
    ['loadbalancer-local', 1, 'x', '203.0.113.10:80'] as const,
    ['no-endpoints', 0, 'n1', '203.0.113.10:80'] as const,
    ['no-endpoints', 0, 'n1', '198.51.100.10:80'] as const,
  ].map(([name, step, from, to]) => ({ name, step, from, to, because: ACCEPTED_FIRST, expect: RESET })),
  {
    name: 'ipv6',
    step: 0,
    from: 'n1',
    to: '[::1]:30080',
    because:
      'node ports of the node itself are led to the relay before anybody asks where they go, so loopback has them too',
    expect: { answered: { 'a1:8080': ['node'], 'b1:8080': ['node'] } },
  },
];
