// Named counters of a real kernel, made with ours and added to by a rule of iptables.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import test, { after } from 'node:test';
import { Nfacct } from '../../src/kernel/nfacct.ts';
import { continueInSandbox } from '../../src/lab/sandbox.ts';

continueInSandbox(import.meta.url);

const nfacct = new Nfacct();
after(() => nfacct.close());

test('a counter is made once, found by its name, and counts what a rule sends it', async (t) => {
  if (!(await nfacct.isSupported())) return t.skip('this kernel has no nfacct');
  assert.equal(await nfacct.get('localhost_nps_accepted_pkts'), undefined);
  await nfacct.ensure('localhost_nps_accepted_pkts');
  assert.deepEqual(await nfacct.get('localhost_nps_accepted_pkts'), {
    name: 'localhost_nps_accepted_pkts',
    packets: 0n,
    bytes: 0n,
  });
  const match = ['-m', 'nfacct', '--nfacct-name', 'localhost_nps_accepted_pkts'];
  execFileSync('iptables', ['-w', '-A', 'OUTPUT', '-p', 'udp', ...match]);
  const socket = createSocket('udp4');
  for (let i = 0; i < 2; i++) await new Promise((resolve) => socket.send('hello', 9, '127.0.0.1', resolve));
  socket.close();
  const counted = await nfacct.get('localhost_nps_accepted_pkts');
  assert.ok(counted && counted.packets === 2n && counted.bytes > counted.packets);
  await nfacct.ensure('localhost_nps_accepted_pkts');
  assert.equal((await nfacct.get('localhost_nps_accepted_pkts'))?.packets, counted.packets);
});
