import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Ipvs } from '../../kernel/ipvs.ts';
import { IpvsRequests, type RealServerState } from '../../kernel/ipvs-codec.ts';
import { DrainList } from './drain.ts';

const TCP = { protocol: 'TCP', ip: '10.96.0.1', port: 80 } as const;
const UDP = { ...TCP, protocol: 'UDP' } as const;
const A = { ip: '10.244.1.1', port: 8080, weight: 0 };

/** A kernel without a network: real servers as told, and what is asked of it in words. Real ones are in the test machine. */
function kernel(backends: () => readonly RealServerState[]) {
  const said: string[] = [];
  const ipvs = {
    requests: new IpvsRequests(1),
    backends: async () => backends(),
    send: async (steps: readonly { describe(): string }[]) => {
      said.push(...steps.map((step) => step.describe().replace(/ real server.*\(/, ' (')));
    },
  };
  return { list: new DrainList(ipvs as unknown as Ipvs), said };
}

const state = (activeConnections: number, weight = 1): RealServerState => ({
  ...A,
  weight,
  activeConnections,
  inactiveConnections: 0,
});

test('a server without connections goes at once', async () => {
  const { list, said } = kernel(() => [state(0)]);
  await list.remove([{ server: TCP, backend: A }]);
  assert.deepEqual(said, ['delete (weight 0) of 10.96.0.1:80/TCP']);
  assert.deepEqual(list.draining, []);
});

test('a TCP server with connections waits for their end, a UDP server does not', async () => {
  let connections = 2;
  const { list, said } = kernel(() => [state(connections, said.length > 0 ? 0 : 1)]);
  await list.remove([{ server: TCP, backend: A }]);
  await list.check();
  assert.deepEqual(said, ['change (weight 0) of 10.96.0.1:80/TCP'], 'told once');
  connections = 0;
  await list.check();
  assert.deepEqual(said.slice(1), ['delete (weight 0) of 10.96.0.1:80/TCP']);
  connections = 2;
  await list.remove([{ server: UDP, backend: A }]);
  assert.deepEqual(said.slice(2), ['delete (weight 0) of 10.96.0.1:80/UDP']);
});

test('one that is taken back while the kernel is asked is not deleted', async () => {
  let connections = 1;
  const { list, said } = kernel(() => [state(connections, 0)]);
  await list.remove([{ server: TCP, backend: A }]);
  connections = 0;
  const checking = list.check();
  assert.equal(list.takeBack(TCP, A), true);
  await checking;
  assert.deepEqual(said, []);
});

test('a virtual server that went took its real servers along', async () => {
  const { list } = kernel(() => [state(1)]);
  await list.remove([{ server: TCP, backend: A }]);
  list.forget(TCP);
  assert.deepEqual(list.draining, []);
});
