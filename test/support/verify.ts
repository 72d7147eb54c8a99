// Everything verification needs, for node n1 of the golden network.

import type { NodeModel } from '../../src/model/model.ts';
import { resolveNode } from '../../src/model/resolve.ts';
import type { IptablesFacts } from '../../src/modes/iptables/facts.ts';
import { iptablesMode } from '../../src/modes/iptables/iptables.ts';
import type { NftablesFacts } from '../../src/modes/nftables/facts.ts';
import { nftablesMode } from '../../src/modes/nftables/nftables.ts';
import { AddressBook } from '../../src/observe/trace/frontends.ts';
import { IptablesOrigins } from '../../src/observe/trace/iptables-origins.ts';
import { parseIptablesSave } from '../../src/observe/trace/iptables-save.ts';
import { parseNftList } from '../../src/observe/trace/nft-list.ts';
import { NftablesOrigins } from '../../src/observe/trace/nftables-origins.ts';
import type { Ruleset } from '../../src/observe/trace/ruleset.ts';
import { IPTABLES_SCOPE, iptablesSetup } from '../../src/observe/verify/iptables-scope.ts';
import { neighbourhoodOf } from '../../src/observe/verify/neighbourhood.ts';
import { NFTABLES_SCOPE, nftablesSetup } from '../../src/observe/verify/nftables-scope.ts';
import type { VerifyInput } from '../../src/observe/verify/verify.ts';
import type { Tracker } from '../../src/track/tracker.ts';
import { goldenHost } from './walker.ts';

export const N1 = {
  nodeName: 'n1',
  nodeIPs: { IPv4: '192.168.50.1', IPv6: 'fd00:50::1' },
  allowsExternalIPs: true,
} as const;

/** The same for nftables mode. */
export function nftablesVerifyInput(tracker: Tracker, facts: NftablesFacts, held: Ruleset | undefined): VerifyInput {
  const { family } = facts;
  const model = resolveNode(tracker.take(family), N1);
  const book = new AddressBook(model);
  return {
    ...common(model, book, facts),
    setup: nftablesSetup(facts),
    planned: parseNftList(nftablesMode.print(nftablesMode.plan(model, facts)), family),
    held,
    origins: new NftablesOrigins(model),
    scope: NFTABLES_SCOPE,
  };
}

export function verifyInput(tracker: Tracker, facts: IptablesFacts, held: Ruleset | undefined): VerifyInput {
  const { family } = facts;
  const model = resolveNode(tracker.take(family), N1);
  const book = new AddressBook(model);
  return {
    ...common(model, book, facts),
    setup: iptablesSetup(facts),
    planned: parseIptablesSave(iptablesMode.print(iptablesMode.plan(model, facts)), family),
    held,
    origins: new IptablesOrigins(model),
    scope: IPTABLES_SCOPE,
  };
}

function common(
  model: NodeModel,
  book: AddressBook,
  facts: Pick<IptablesFacts, 'detector' | 'nodePortAddresses'>,
): Pick<VerifyInput, 'model' | 'book' | 'around' | 'host'> {
  const { family } = model;
  return {
    model,
    book,
    around: neighbourhoodOf(model, book, {
      nodeIp: N1.nodeIPs[family],
      hostIps: ['192.168.50.1', '10.60.0.1', 'fd00:50::1'],
      podCIDRs: ['10.244.1.0/24', 'fd00:10:244:1::/64'],
      detector: facts.detector,
      nodePortAddresses: facts.nodePortAddresses,
    }),
    host: goldenHost(family),
  };
}
