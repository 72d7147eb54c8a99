// Addresses of a real kernel, set with ip and read with ours.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test, { after } from 'node:test';
import { Addresses } from '../../src/kernel/addresses.ts';
import { continueInSandbox } from '../../src/lab/sandbox.ts';

continueInSandbox(import.meta.url);

const addresses = new Addresses();
after(() => addresses.close());

function ip(...args: string[]): void {
  execFileSync('ip', args);
}

test('addresses of loopback, of links that are down and of point-to-point links are listed, each once', async () => {
  ip('link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'v1');
  ip('address', 'add', '192.0.2.10/24', 'dev', 'v0');
  ip('address', 'add', '192.0.2.10/32', 'dev', 'v1');
  ip('address', 'add', '198.51.100.1', 'peer', '198.51.100.2', 'dev', 'v1');
  ip('-6', 'address', 'add', 'fd00::10/64', 'dev', 'v0', 'nodad');
  assert.deepEqual((await addresses.list('IPv4')).sort(), ['127.0.0.1', '192.0.2.10', '198.51.100.1']);
  assert.deepEqual((await addresses.list('IPv6')).sort(), ['::1', 'fd00::10']);
});

test('an address that comes or goes is told', () => {
  let told = 0;
  const watch = addresses.watch(() => told++);
  try {
    watch.look();
    assert.equal(told, 0);
    ip('address', 'add', '203.0.113.7/32', 'dev', 'lo');
    watch.look();
    assert.ok(told > 0);
    told = 0;
    ip('address', 'del', '203.0.113.7/32', 'dev', 'lo');
    watch.look();
    assert.ok(told > 0);
  } finally {
    watch.close();
  }
});
