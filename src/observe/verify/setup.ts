// What every mode's facts say alike of which connections it takes and whom it masquerades.
import { isLoopback } from '../../lib/ip.ts';
import type { NodePortAddresses } from '../../modes/iptables/facts.ts';
import type { LocalDetector } from '../../modes/local-detector.ts';
import type { Setup } from './meaning.ts';

export interface CommonFacts {
  readonly masqueradeAll: boolean;
  readonly detector: LocalDetector;
  readonly localhostNodePorts: boolean;
  readonly nodePortAddresses: NodePortAddresses;
}

export function commonSetup(
  facts: CommonFacts,
): Pick<Setup, 'masqueradeAll' | 'detector' | 'localhostNodePorts' | 'takesNodePorts'> {
  const { masqueradeAll, detector, nodePortAddresses } = facts;
  const isTaken = (ip: string): boolean => nodePortAddresses.kind === 'all' || nodePortAddresses.ips.includes(ip);
  return {
    masqueradeAll,
    detector,
    localhostNodePorts: facts.localhostNodePorts && isTaken('127.0.0.1'),
    takesNodePorts: (ip) => !isLoopback(ip) && isTaken(ip),
  };
}
