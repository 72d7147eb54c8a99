// The walker over the rules that nftables mode plans.
import { expectedIn, GOLDEN_SERVICE_CIDRS } from '../support/golden.ts';
import { goldenNftablesFacts } from '../support/nftables-node.ts';
import { testRecordedWalks } from '../support/recorded-walks.ts';
import { nftablesVerifyInput } from '../support/verify.ts';

testRecordedWalks({
  name: 'nftables',
  base: [GOLDEN_SERVICE_CIDRS],
  input: (tracker, golden, family) => nftablesVerifyInput(tracker, goldenNftablesFacts(golden, family), undefined),
  fates: (_golden, _step, probe) => [expectedIn('nftables', probe)],
});
