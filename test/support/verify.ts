// Everything verification needs, for node n1 of the golden network.
import { resolveNode } from '../../src/model/resolve.ts';
import type { IptablesFacts } from '../../src/modes/iptables/facts.ts';
import { iptablesMode } from '../../src/modes/iptables/iptables.ts';
import { AddressBook } from '../../src/observe/trace/frontends.ts';
import { IptablesOrigins } from '../../src/observe/trace/iptables-origins.ts';
import { parseIptablesSave } from '../../src/observe/trace/iptables-save.ts';
import type { Ruleset } from '../../src/observe/trace/ruleset.ts';
import { IPTABLES_SCOPE, iptablesSetup } from '../../src/observe/verify/iptables-scope.ts';
import { neighbourhoodOf } from '../../src/observe/verify/neighbourhood.ts';
import type { VerifyInput } from '../../src/observe/verify/verify.ts';
import type { Tracker } from '../../src/track/tracker.ts';
import { goldenHost } from './walker.ts';

export const N1 = {
  nodeName: 'n1',
  nodeIPs: { IPv4: '192.168.50.1', IPv6: 'fd00:50::1' },
  allowsExternalIPs: true,
} as const;

export function verifyInput(tracker: Tracker, facts: IptablesFacts, held: Ruleset | undefined): VerifyInput {
  const { family } = facts;
  const model = resolveNode(tracker.take(family), N1);
  const book = new AddressBook(model);
  return {
    model,
    book,
    setup: iptablesSetup(facts),
    around: neighbourhoodOf(model, book, {
      nodeIp: N1.nodeIPs[family],
      hostIps: ['192.168.50.1', '10.60.0.1', 'fd00:50::1'],
      podCIDRs: ['10.244.1.0/24', 'fd00:10:244:1::/64'],
      detector: facts.detector,
      nodePortAddresses: facts.nodePortAddresses,
    }),
    host: goldenHost(family),
    planned: parseIptablesSave(iptablesMode.print(iptablesMode.plan(model, facts)), family),
    held,
    origins: new IptablesOrigins(model),
    scope: IPTABLES_SCOPE,
  };
}
