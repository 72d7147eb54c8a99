// A machine with the usual settings.
import type { IptablesFacts } from '../../src/modes/iptables/facts.ts';

export const IPTABLES_FACTS: IptablesFacts = {
  family: 'IPv4',
  masqueradeMark: 1 << 14,
  masqueradeAll: false,
  localhostNodePorts: true,
  nodePortAddresses: { kind: 'all' },
  detector: { kind: 'source', cidr: '10.128.0.0/9' },
  hasRandomFully: true,
  servicesPerBatch: undefined,
  conntrackIsLiberal: false,
  counters: { invalidDropped: false, localhostNodePorts: false },
};
