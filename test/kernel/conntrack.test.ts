// Tracked flows of a real kernel: made by packets through a translation, listed and deleted with ours.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import net from 'node:net';
import test, { after, before } from 'node:test';
import { Conntrack, type Flow, type FlowKind } from '../../src/kernel/conntrack.ts';
import { continueInSandbox } from '../../src/lab/sandbox.ts';
import type { Family } from '../../src/lib/ip.ts';
import { until } from '../support/agent.ts';

continueInSandbox(import.meta.url);

const sockets: Socket[] = [];
let conntrack: Conntrack;

before(() => {
  execFileSync('nft', ['-f', '-'], {
    input: `table ip t { chain out { type nat hook output priority -100; ip daddr 127.0.0.53 udp dport 53 dnat to 127.0.0.2:5353; };
        chain in { type filter hook input priority 0; ip daddr 127.0.0.66 drop; }; }
      table ip6 t { chain out { type nat hook output priority -100; udp dport 53 dnat to [::1]:5353; }; }`,
  });
  conntrack = new Conntrack();
});
after(() => {
  conntrack.close();
  for (const socket of sockets) socket.close();
});

async function bound(type: 'udp4' | 'udp6', address: string, port = 0): Promise<Socket> {
  const socket = createSocket(type);
  sockets.push(socket);
  socket.bind(port, address);
  await once(socket, 'listening');
  return socket;
}

async function send(from: Socket, port: number, address: string): Promise<void> {
  await new Promise<void>((resolve, reject) =>
    from.send('hello', port, address, (error) => (error ? reject(error) : resolve())),
  );
}

async function flowsOf(family: Family, kind: FlowKind = 'udp'): Promise<Flow[]> {
  const all: Flow[] = [];
  await conntrack.visitFlows(family, kind, (flows) => all.push(...flows));
  return all;
}

test('a translated flow shows where it was sent and who answers', async () => {
  await bound('udp4', '127.0.0.2', 5353);
  const client = await bound('udp4', '127.0.0.1');
  await send(client, 53, '127.0.0.53');
  const sourcePort = client.address().port;
  const [flow] = (await flowsOf('IPv4')).filter(({ original }) => original.sourcePort === sourcePort);
  assert.deepEqual(flow?.original, { source: '127.0.0.1', sourcePort, destination: '127.0.0.53', destinationPort: 53 });
  assert.deepEqual(flow?.reply, {
    source: '127.0.0.2',
    sourcePort: 5353,
    destination: '127.0.0.1',
    destinationPort: sourcePort,
  });
});

test('only the named flows are deleted, and other families and protocols are not even seen', async () => {
  await bound('udp6', '::1', 5353);
  const clients = await Promise.all([bound('udp4', '127.0.0.1'), bound('udp4', '127.0.0.1')]);
  for (const client of clients) await send(client, 53, '127.0.0.53');
  await send(await bound('udp6', '::1'), 53, '::1');
  const [gone, kept] = clients.map((client) => client.address().port);
  const seen: Flow[] = [];
  const deleted = await conntrack.deleteFlows('IPv4', 'udp', (flow) => {
    seen.push(flow);
    return flow.original.sourcePort === gone;
  });
  assert.equal(deleted, 1);
  assert.ok(seen.every(({ original }) => original.source.startsWith('127.')));
  const left = (await flowsOf('IPv4')).map(({ original }) => original.sourcePort);
  assert.ok(left.includes(kept!));
  assert.ok(!left.includes(gone!));
  const [six] = await flowsOf('IPv6');
  assert.equal(six?.reply.sourcePort, 5353);
  assert.equal(await conntrack.deleteFlows('IPv6', 'udp', () => true), 1);
});

test('hundreds of flows are listed and deleted', async () => {
  const client = await bound('udp4', '127.0.0.1');
  for (let port = 10_000; port < 10_700; port++) await send(client, port, '127.0.0.9');
  const isOurs = ({ original }: Flow): boolean => original.destination === '127.0.0.9';
  assert.equal((await flowsOf('IPv4')).filter(isOurs).length, 700);
  assert.equal(await conntrack.deleteFlows('IPv4', 'udp', isOurs), 700);
  assert.equal((await flowsOf('IPv4')).filter(isOurs).length, 0);
});

test('of TCP only connections that nobody answered are seen', async (t) => {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  const answered = net.connect(port, '127.0.0.1');
  await once(answered, 'connect');
  const unanswered = net.connect(port, '127.0.0.66').on('error', () => {});
  t.after(() => {
    unanswered.destroy();
    answered.destroy();
    server.close();
  });
  await until(
    async () => (await flowsOf('IPv4', 'unanswered-tcp')).length > 0,
    5000,
    () => 'the attempt is not tracked',
  );
  const seen = await flowsOf('IPv4', 'unanswered-tcp');
  assert.deepEqual(
    seen.map(({ original }) => `${original.destination}:${original.destinationPort}`),
    [`127.0.0.66:${port}`],
  );
  assert.equal(await conntrack.deleteFlows('IPv4', 'unanswered-tcp', () => true), 1);
});
