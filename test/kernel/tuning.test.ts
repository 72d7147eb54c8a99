// Kernel settings in a network of this file's own. The size of the table of connections belongs to the whole machine and
// is read-only in there, which is just what a process without the right sees.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { applyTunings, countRanges, describeTuningFailure, machineCpus, setOomScore } from '../../src/kernel/tuning.ts';
import { continueInSandbox } from '../../src/lab/sandbox.ts';
import { HOUR, MINUTE } from '../../src/lib/duration.ts';
import { conntrackTunings, iptablesTunings } from '../../src/node/tuning.ts';

continueInSandbox(import.meta.url);

const CONNTRACK = {
  maxPerCore: 0,
  min: 0,
  tcpEstablishedTimeout: 7n * HOUR,
  tcpCloseWaitTimeout: 9n * MINUTE,
  tcpBeLiberal: true,
  udpTimeout: 0n,
  udpStreamTimeout: 0n,
};
const setting = (name: string): string => readFileSync(`/proc/sys/net/${name}`, 'utf8').trim();

test('wanted settings are written, and found in place the second time', () => {
  const wanted = [...conntrackTunings(CONNTRACK, 1), ...iptablesTunings(true)];
  assert.deepEqual(
    applyTunings(wanted).map(({ kind }) => kind),
    ['written', 'written', 'written', 'written'],
  );
  assert.equal(setting('netfilter/nf_conntrack_tcp_timeout_established'), '25200');
  assert.equal(setting('netfilter/nf_conntrack_tcp_timeout_close_wait'), '540');
  assert.equal(setting('netfilter/nf_conntrack_tcp_be_liberal'), '1');
  assert.equal(setting('ipv4/conf/all/route_localnet'), '1');
  assert.deepEqual(
    applyTunings(wanted).map(({ kind }) => kind),
    ['held', 'held', 'held', 'held'],
  );
});

test('a setting that cannot be written costs a message that names the consequence and the cure', () => {
  const before = Number(setting('netfilter/nf_conntrack_max'));
  const [max] = applyTunings(conntrackTunings({ ...CONNTRACK, maxPerCore: 1, min: before + 1 }, 1));
  assert.equal(max?.kind, 'failed');
  assert.ok(max?.kind === 'failed');
  assert.equal(max.held, String(before));
  assert.equal(
    describeTuningFailure(max),
    'the node tracks no more connections than its present limit, and drops new ones beyond it: ' +
      `/proc/sys/net/netfilter/nf_conntrack_max is ${before}, wanted is ${before + 1}, and writing it failed (${max.error}). ` +
      `On the host run: echo ${before + 1} > /proc/sys/net/netfilter/nf_conntrack_max`,
  );
});

test('a table that is larger than wanted and cannot be made smaller is no cause for alarm', () => {
  const [max] = applyTunings(conntrackTunings({ ...CONNTRACK, maxPerCore: 4, min: 4 }, 1));
  assert.equal(max?.kind, 'held');
});

test('a hash that is larger than wanted is left alone', () => {
  const [, hash] = applyTunings(conntrackTunings({ ...CONNTRACK, maxPerCore: 4, min: 4 }, 1));
  assert.equal(hash?.kind, 'held');
});

test('a setting that this kernel does not have is a failure, not a new file', () => {
  const [outcome] = applyTunings([{ files: ['/proc/sys/net/ipv4/vs/no-such'], value: 1, consequence: 'nothing' }]);
  assert.equal(outcome?.kind, 'failed');
  assert.ok(outcome?.kind === 'failed' && outcome.error === 'ENOENT');
});

test('the CPUs of the machine are counted from their ranges', () => {
  assert.equal(countRanges('0'), 1);
  assert.equal(countRanges('0-3,6'), 5);
  assert.equal(countRanges(''), 0);
  assert.equal(countRanges('none'), 0);
  assert.ok(machineCpus() >= 1);
});

test('the OOM score of this process is set, or the reason why it is not is told', async () => {
  assert.equal(await setOomScore(200), undefined);
  assert.equal(readFileSync('/proc/self/oom_score_adj', 'utf8').trim(), '200');
  assert.equal(await setOomScore(5000), 'EINVAL');
});
