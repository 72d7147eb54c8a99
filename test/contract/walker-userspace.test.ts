// The walker over what userspace mode plans: rules, and relays behind them.
import { throughRelays } from '../packets/userspace-differences.ts';
import { expectedIn, recordedDetector } from '../support/golden.ts';
import { testRecordedWalks } from '../support/recorded-walks.ts';
import { userspaceFacts, userspaceVerifyInput } from '../support/verify.ts';

testRecordedWalks({
  name: 'userspace',
  input: (tracker, golden, family) =>
    userspaceVerifyInput(tracker, { ...userspaceFacts(family), ...recordedDetector(golden, family) }),
  fates: ({ name }, step, probe) => [throughRelays(name, step, probe, expectedIn('iptables', probe)).expect],
});
