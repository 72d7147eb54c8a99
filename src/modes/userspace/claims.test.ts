import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import { Claims } from './claims.ts';
import type { Claim } from './plan.ts';

async function holder(): Promise<{ server: net.Server; port: number }> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as net.AddressInfo).port };
}

test('a port that a program has is claimed when the program is gone, and the trouble is said once', async () => {
  const { server, port } = await holder();
  const problems: string[] = [];
  const claims = new Claims({ family: 'IPv4', onProblem: (text) => problems.push(text) });
  const claim: Claim = { ip: '127.0.0.1', port, protocol: 'TCP', owner: 'shop/web:http' };
  await claims.claim([claim]);
  await claims.retry();
  assert.equal(claims.size, 0);
  assert.equal(problems.length, 1);
  assert.match(problems[0]!, new RegExp(`^can't open node port for 127\\.0\\.0\\.1:${port}/TCP: .*EADDRINUSE`));
  server.close();
  await once(server, 'close');
  await claims.retry();
  assert.equal(claims.size, 1);
  claims.releaseAll();
});

test('of two services that want one port the second has it when the first lets go, unless it went before', async () => {
  const { server, port } = await holder();
  server.close();
  await once(server, 'close');
  const problems: string[] = [];
  const claims = new Claims({ family: 'IPv4', onProblem: (text) => problems.push(text) });
  const claim = (owner: string): Claim => ({ ip: '127.0.0.1', port, protocol: 'TCP', owner });
  await claims.claim([claim('a'), claim('b'), claim('c')]);
  claims.release([claim('a'), claim('b')]);
  await claims.retry();
  assert.equal(claims.size, 1);
  await claims.claim([claim('a')]);
  assert.deepEqual(problems, [
    `Port conflict detected on port 127.0.0.1:${port}/TCP.  b vs a`,
    `Port conflict detected on port 127.0.0.1:${port}/TCP.  c vs a`,
    `Port conflict detected on port 127.0.0.1:${port}/TCP.  a vs c`,
  ]);
  claims.releaseAll();
});

test('an address that is not of this node needs no claim', async () => {
  const claims = new Claims({ family: 'IPv4', onProblem: assert.fail });
  await claims.claim([{ ip: '192.0.2.1', port: 80, protocol: 'TCP', owner: 'shop/web:http' }]);
  await claims.retry();
  assert.equal(claims.size, 0);
});
