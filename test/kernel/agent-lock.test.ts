// Two agents on one node, as real processes in a network of this file's own.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import net from 'node:net';
import { afterEach, test } from 'node:test';
import {
  type AgentIdentity,
  type AgentLock,
  acquireAgentLock,
  agentLockHolder,
  runningProxyMode,
} from '../../src/kernel/agent-lock.ts';
import { continueInSandbox } from '../../src/lab/sandbox.ts';
import { systemClock } from '../../src/lib/clock.ts';

continueInSandbox(import.meta.url);

const NEVER = new AbortController().signal;
const ignore = (): void => {};
const SOON = { timeout: 20_000 }; // a lock that is never had must not hang the run
const children: ChildProcess[] = [];
const locks: AgentLock[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const lock of locks.splice(0)) await lock.release();
});

async function heldHere(): Promise<void> {
  locks.push((await acquireAgentLock({ mode: 'iptables', version: 'v1' }, ignore, NEVER))!);
}

/** Another process that takes the lock. */
async function otherAgent(): Promise<ChildProcess> {
  const module = new URL('../../src/kernel/agent-lock.ts', import.meta.url).href;
  const program = `const { acquireAgentLock } = await import(${JSON.stringify(module)});
    await acquireAgentLock({ mode: 'nftables', version: 'v9' }, () => {}, new AbortController().signal);
    process.send('held'); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  children.push(child);
  await once(child, 'message');
  return child;
}

test('a free lock is had at once, and given back', SOON, async () => {
  for (let i = 0; i < 2; i++) {
    const lock = await acquireAgentLock(
      { mode: 'iptables', version: 'v1' },
      () => assert.fail('nobody holds it'),
      NEVER,
    );
    assert.deepEqual((await agentLockHolder())?.mode, 'iptables');
    await lock!.release();
    assert.equal(await agentLockHolder(), undefined);
  }
});

test('who waits is told who holds the lock, and has it as soon as that process is killed', SOON, async () => {
  const other = await otherAgent();
  const { promise: told, resolve: tell } = Promise.withResolvers<AgentIdentity | undefined>();
  const waiting = acquireAgentLock({ mode: 'iptables', version: 'v1' }, tell, NEVER);
  const holder = await told;
  assert.equal(holder?.pid, other.pid);
  assert.equal(holder?.mode, 'nftables');
  assert.equal(holder?.version, 'v9');
  assert.ok(Number.isFinite(Date.parse(holder?.since ?? '')));
  other.kill('SIGKILL');
  locks.push((await waiting)!);
});

test('the holder is told of again every 30 s, not more often', SOON, async () => {
  await heldHere();
  let now = 0;
  // Each wait takes ten seconds of this clock, and none of ours.
  const clock = {
    ...systemClock,
    now: () => now,
    wait: async () => {
      now += 10_000;
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
  const over = new AbortController();
  const times: number[] = [];
  const onWaiting = (): void => {
    times.push(now);
    if (times.length === 4) over.abort();
  };
  assert.equal(await acquireAgentLock({ mode: 'iptables', version: 'v2', clock }, onWaiting, over.signal), undefined);
  assert.deepEqual(
    times.map((time) => time - times[0]!),
    [0, 30_000, 60_000, 90_000],
  );
});

test('waiting ends when it is no longer wanted', SOON, async () => {
  await heldHere();
  const over = new AbortController();
  const waiting = acquireAgentLock({ mode: 'iptables', version: 'v2' }, () => over.abort(), over.signal);
  assert.equal(await waiting, undefined);
});

test('a holder that says nothing sensible is reported as unknown', SOON, async () => {
  const squatter = net.createServer((socket) => socket.end('hello\n')).listen('\0portolan-agent');
  await once(squatter, 'listening');
  const over = new AbortController();
  const reported: unknown[] = [];
  const onWaiting = (holder: unknown): void => {
    reported.push(holder);
    over.abort();
  };
  await acquireAgentLock({ mode: 'iptables', version: 'v1' }, onWaiting, over.signal);
  assert.deepEqual(reported, [undefined]);
  squatter.close();
  await once(squatter, 'close');
});

test('a kube-proxy that answers on its metrics port is found by its mode', SOON, async () => {
  const server = createServer((request, response) => {
    response.statusCode = request.url === '/proxyMode' ? 200 : 404;
    response.end('ipvs');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  assert.equal(await runningProxyMode(port), 'ipvs');
  server.close();
  await once(server, 'close');
  assert.equal(await runningProxyMode(port), undefined);
});
