import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attempt } from './attempt.ts';
import { parseTarget, probePackets } from './probe.ts';

const probe = { from: 'x', proto: 'tcp', to: '192.0.2.1:80' } as const;
const ownerOf = (ip: string) => (ip === '192.0.2.9' ? 'client' : ip);

function answer(name: string, source = '192.0.2.9'): Attempt {
  return { kind: 'answered', answer: { name, source, port: 8080 } };
}

test('a probe asks sixty times, and counts who answered and whose address was seen', async () => {
  let asked = 0;
  const ask = async () => (asked++ % 3 === 0 ? answer('b', '203.0.113.1') : answer('a'));
  assert.deepEqual(await probePackets(probe, ask, ownerOf), {
    answered: { 'a:8080': ['client'], 'b:8080': ['203.0.113.1'] },
    shares: { 'a:8080': 40, 'b:8080': 20 },
  });
});

test('the first attempt is alone until it is answered, since it may decide for the others', async () => {
  let decided = '';
  const ask = async () => {
    if (decided === '') {
      await new Promise(setImmediate);
      decided += 'a';
    }
    return answer(decided);
  };
  assert.deepEqual((await probePackets(probe, ask, ownerOf)).shares, { 'a:8080': 60 });
});

test('a probe stops after two failures', async () => {
  let asked = 0;
  const ask = async (): Promise<Attempt> => {
    asked++;
    return { kind: 'failed', failure: 'refused' };
  };
  assert.deepEqual(await probePackets(probe, ask, ownerOf), { failed: ['refused'], shares: {} });
  assert.equal(asked, 2);
});

test('a probe asks as often as it is told', async () => {
  const result = await probePackets({ ...probe, count: 1 }, async () => answer('a'), ownerOf);
  assert.deepEqual(result.shares, { 'a:8080': 1 });
});

test('a target is an address and a port, asked from any address of its family or from the one given', () => {
  assert.deepEqual(parseTarget('192.0.2.1:80'), { ip: '192.0.2.1', port: 80, sourceIp: '0.0.0.0' });
  assert.deepEqual(parseTarget('[fd00::1]:53'), { ip: 'fd00::1', port: 53, sourceIp: '::' });
  assert.deepEqual(parseTarget('192.0.2.1:80', '198.51.100.1').sourceIp, '198.51.100.1');
  assert.throws(() => parseTarget('example:80'), /not an address and port: example:80/);
});
