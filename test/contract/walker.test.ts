// The walker over upstream's recorded rules: every packet that was sent then is walked, and must meet the recorded fate.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { familyOf } from '../../src/lib/ip.ts';
import { parseIptablesSave } from '../../src/observe/trace/iptables-save.ts';
import { Walker } from '../../src/observe/trace/walk.ts';
import { expectedIn, goldenCases, recordedRules } from '../support/golden.ts';
import { goldenHost, packetOf, predicted } from '../support/walker.ts';

for (const golden of goldenCases()) {
  const remembers = golden.name.startsWith('affinity');
  test(`${golden.name}: the walker says what packets did`, () => {
    for (const [i, step] of golden.steps.entries()) {
      for (const probe of step.probes ?? []) {
        if (!('proto' in probe)) continue;
        const packet = packetOf(probe);
        const family = familyOf(packet.dst);
        const walker = new Walker(parseIptablesSave(recordedRules(golden, i, family), family));
        const said = predicted(walker.walk(packet, goldenHost(family)));
        const was = expectedIn('iptables', probe);
        if (remembers) assertContains(said, was, JSON.stringify(probe));
        else assert.deepEqual(said, was, JSON.stringify(probe));
      }
    }
  });
}

/** Which of the possible endpoints a client sticks to is up to the first draw. */
function assertContains(said: ReturnType<typeof predicted>, was: ReturnType<typeof predicted>, message: string): void {
  assert.equal(said.failed, undefined, message);
  for (const [endpoint, seen] of Object.entries(was.answered ?? {}))
    assert.deepEqual(said.answered?.[endpoint], seen, message);
}
