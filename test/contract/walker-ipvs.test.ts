// The walker over what IPVS mode plans: rules, sets, addresses and virtual servers.
import { expectedIn } from '../support/golden.ts';
import { testRecordedWalks } from '../support/recorded-walks.ts';
import { ipvsVerifyInput } from '../support/verify.ts';
import { facts } from '../vm/inside/bench.ts';
import { differenceOf } from '../vm/inside/differences.ts';

testRecordedWalks({
  name: 'IPVS',
  input: (tracker, golden, family) => ipvsVerifyInput(tracker, facts(golden, family)),
  // A Service's address is the node's own, so what the node sends there comes from there.
  asked: (packet, { addresses }) =>
    packet.isFromThisHost && addresses!.has(packet.dst) ? { ...packet, src: packet.dst } : packet,
  fates: ({ name }, step, probe) => {
    const known = differenceOf(name, step, probe);
    return known ? [known.expect] : [expectedIn('iptables', probe), expectedIn('nftables', probe)];
  },
});
