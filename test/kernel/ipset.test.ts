// Sets written by us and read by the system's ipset, and the other way round.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, test } from 'node:test';
import type { KernelError } from '../../src/kernel/error.ts';
import { IpSets } from '../../src/kernel/ipset.ts';
import { addEntry, deleteEntry, entryText, type IpSet, type SetEntry } from '../../src/kernel/ipset-codec.ts';
import { continueInSandbox } from '../../src/lab/sandbox.ts';
import { FAMILIES } from '../../src/lib/ip.ts';
import { kernelSet, kernelSets } from '../../src/modes/ipvs/sets.ts';

continueInSandbox(import.meta.url);

const sets = new IpSets();
after(() => sets.close());

function saved(): string[] {
  const text = execFileSync('ipset', ['save'], { encoding: 'utf8' });
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(/ bucketsize.*$/, ''));
}

test('sets can be used here', async () => {
  assert.equal(await sets.unusableBecause(), undefined);
});

test('every set of IPVS mode is made as the tool would make it, in both families, and once is enough', async () => {
  for (const family of FAMILIES) {
    await sets.create(kernelSets(family));
    await sets.create(kernelSets(family));
  }
  const ours = saved();
  assert.equal(ours.length, 34);
  for (const { name } of FAMILIES.flatMap(kernelSets)) execFileSync('ipset', ['destroy', name]);
  execFileSync('ipset', ['restore'], { input: `${ours.join('\n')}\n` });
  assert.deepEqual(saved().sort(), ours.sort());
});

const ENTRIES: readonly (readonly [IpSet, SetEntry])[] = [
  [kernelSet('CLUSTER-IP', 'IPv4'), { ip: '10.96.0.10', protocol: 'UDP', port: 53 }],
  [kernelSet('CLUSTER-IP', 'IPv6'), { ip: 'fd00:96::a', protocol: 'SCTP', port: 9000 }],
  [kernelSet('LOOP-BACK', 'IPv4'), { ip: '10.244.1.11', protocol: 'TCP', port: 8080, ip2: '10.244.1.11' }],
  [
    kernelSet('LOAD-BALANCER-SOURCE-CIDR', 'IPv4'),
    { ip: '203.0.113.9', protocol: 'TCP', port: 443, ip2: '198.18.0.0', prefix2: 15 },
  ],
  [
    kernelSet('LOAD-BALANCER-SOURCE-CIDR', 'IPv4'),
    { ip: '203.0.113.9', protocol: 'TCP', port: 443, ip2: '198.51.100.7', prefix2: 32 },
  ],
  [
    kernelSet('LOAD-BALANCER-SOURCE-CIDR', 'IPv6'),
    { ip: '2001:db8::9', protocol: 'TCP', port: 443, ip2: '2001:db8:1::', prefix2: 48 },
  ],
  [kernelSet('NODE-PORT-TCP', 'IPv4'), { port: 30080 }],
  [kernelSet('IPVS-IPS', 'IPv6'), { ip: 'fd00:96::a' }],
];

test('entries of every type are listed by the tool as we print them, and read back as we wrote them', async () => {
  await sets.send(ENTRIES.map(([set, entry]) => addEntry(set, entry)));
  await sets.send(ENTRIES.map(([set, entry]) => addEntry(set, entry)));
  const lines = saved();
  for (const [{ name }, entry] of ENTRIES)
    assert.ok(lines.includes(`add ${name} ${entryText(entry)}`), entryText(entry));
  const held = new Map((await sets.list()).map(({ name, entries }) => [name, entries.map(entryText)]));
  for (const [{ name }, entry] of ENTRIES) assert.ok(held.get(name)?.includes(entryText(entry)), entryText(entry));
});

test('deleting an entry twice is fine', async () => {
  const steps = ENTRIES.map(([set, entry]) => deleteEntry(set, entry));
  await sets.send(steps);
  await sets.send(steps);
  assert.deepEqual(
    saved().filter((line) => line.startsWith('add')),
    [],
  );
});

test('a set too long for one message is listed whole', async () => {
  const set = kernelSet('CLUSTER-IP', 'IPv4');
  const entries = Array.from(
    { length: 5000 },
    (_, i): SetEntry => ({ ip: `10.97.${i >> 8}.${i & 255}`, protocol: 'TCP', port: 80 }),
  );
  await sets.send(entries.map((entry) => addEntry(set, entry)));
  const [held] = await sets.list(set.name);
  assert.deepEqual(held?.entries.map(entryText).sort(), entries.map(entryText).sort());
});

test('a refusal says which entry of which set', async () => {
  const missing: IpSet = { name: 'NOT-THERE', type: 'hash:ip', family: 'IPv4' };
  await assert.rejects(sets.send([addEntry(missing, { ip: '10.0.0.1' })]), (error: KernelError) => {
    assert.equal(error.errno, 'ENOENT');
    assert.match(error.message, /add NOT-THERE 10\.0\.0\.1 refused/);
    return true;
  });
});

test('a set in use is destroyed once its rule is gone', async () => {
  const set = kernelSet('IPVS-IPS', 'IPv4');
  const rule = ['-m', 'set', '--match-set', set.name, 'dst', '-j', 'DROP'];
  execFileSync('iptables', ['-A', 'OUTPUT', ...rule]);
  setTimeout(() => execFileSync('iptables', ['-D', 'OUTPUT', ...rule]), 100);
  await sets.destroy([set]);
  assert.equal(
    saved().some((line) => line.includes(`create ${set.name} `)),
    false,
  );
});

test('destroying all leaves none, and destroying what is not there is fine', async () => {
  await sets.destroy(FAMILIES.flatMap(kernelSets));
  await sets.destroy(FAMILIES.flatMap(kernelSets));
  assert.deepEqual(saved(), []);
});
