// Devices and addresses, made by us and shown by the system's ip, and the other way round.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, test } from 'node:test';
import { KernelError } from '../../src/kernel/error.ts';
import { Links } from '../../src/kernel/links.ts';
import { addAddress, deleteAddress } from '../../src/kernel/links-codec.ts';
import { continueInSandbox } from '../../src/lab/sandbox.ts';

continueInSandbox(import.meta.url);

const links = new Links();
after(() => links.close());
const ip = (...args: string[]): string => execFileSync('ip', args, { encoding: 'utf8' });

test('a device is found by its name, with its kind', async () => {
  ip('link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'v1');
  const device = await links.device('v0');
  assert.equal(device?.kind, 'veth');
  assert.match(ip('link', 'show', 'v0'), new RegExp(`^${device?.index}: v0@`));
  assert.equal(await links.device('not-there'), undefined);
});

test('addresses of both families are added once, listed and deleted', async () => {
  const device = (await links.device('v0'))!;
  const ips = ['10.96.0.10', 'fd00:96::a'];
  await links.send(ips.map((address) => addAddress(device, address)));
  await links.send(ips.map((address) => addAddress(device, address)));
  assert.match(ip('-br', 'addr', 'show', 'v0'), /10\.96\.0\.10\/32 fd00:96::a\/128/);
  assert.match(ip('addr', 'show', 'v0'), /inet6 fd00:96::a\/128 scope global deprecated/);
  assert.deepEqual(
    (await links.addresses('IPv4')).filter(({ device: of }) => of === device.index),
    [{ device: device.index, ip: '10.96.0.10', isLinkLocal: false }],
  );
  assert.ok((await links.addresses('IPv6')).some(({ ip: address }) => address === 'fd00:96::a'));
  await links.send(ips.map((address) => deleteAddress(device, address)));
  await links.send(ips.map((address) => deleteAddress(device, address)));
  assert.doesNotMatch(ip('-br', 'addr', 'show', 'v0'), /10\.96|fd00/);
});

test('an IPv6 address of the link itself is told apart', async () => {
  ip('link', 'set', 'v0', 'up');
  ip('addr', 'add', 'fe80::77/64', 'dev', 'v0', 'nodad');
  const found = (await links.addresses('IPv6')).find(({ ip: address }) => address === 'fe80::77');
  assert.equal(found?.isLinkLocal, true);
});

test('a device is deleted', async () => {
  await links.deleteDevice((await links.device('v0'))!);
  assert.equal(await links.device('v0'), undefined);
});

test('a dummy device is made where the kernel has them, or the refusal says so', async () => {
  try {
    const device = await links.ensureDummy('kube-ipvs0');
    assert.equal(device.kind, 'dummy');
    assert.equal((await links.ensureDummy('kube-ipvs0')).index, device.index);
  } catch (error) {
    assert.ok(error instanceof KernelError);
    assert.match(error.message, /create dummy device kube-ipvs0 refused, Unknown device type: ENOTSUP$/);
  }
});
