// Relays with real sockets on loopback.
import assert from 'node:assert/strict';
import dgram from 'node:dgram';
import { once } from 'node:events';
import net from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { RelayBackend } from './plan.ts';
import { RelayThreads } from './relay-threads.ts';
import { Relays } from './relays.ts';

const cleanups: (() => void)[] = [];
after(() => {
  for (const clean of cleanups) clean();
});

async function relay(backends: readonly RelayBackend[], protocol: 'TCP' | 'UDP' = 'TCP', affinityTimeoutSeconds = 0) {
  const relays = new Relays({ udpIdleTimeoutMs: 50, random: () => 0.999 });
  cleanups.push(() => relays.stopAll());
  const plan = { key: 'r', service: 'shop/web', protocol, backends, affinityTimeoutSeconds };
  await relays.ensure(plan, '127.0.0.1');
  return { relays, plan, port: relays.portOf('r')! };
}

async function backend(serve: (socket: net.Socket) => void): Promise<RelayBackend> {
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {});
    serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => server.close());
  const { port } = server.address() as net.AddressInfo;
  return { ip: '127.0.0.1', port, address: `127.0.0.1:${port}` };
}

const named = (name: string) => backend((socket) => socket.end(name));

/** A port of loopback that refuses. */
async function nobody(): Promise<RelayBackend> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, 'close');
  return { ip: '127.0.0.1', port, address: `127.0.0.1:${port}` };
}

function connect(port: number): net.Socket {
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  cleanups.push(() => socket.destroy());
  return socket;
}

async function ask(port: number, question = ''): Promise<string> {
  const socket = connect(port);
  socket.end(question);
  let text = '';
  for await (const chunk of socket) text += chunk;
  return text;
}

test('backends take turns over TCP', async () => {
  const { port } = await relay([await named('a'), await named('b')]);
  const answers = [];
  for (let i = 0; i < 4; i++) answers.push(await ask(port));
  assert.deepEqual(answers, ['a', 'b', 'a', 'b']);
});

test('a client may finish asking and still read the answer, which comes after the end of the question', async () => {
  const slow = await backend((socket) => {
    let question = '';
    socket.on('data', (chunk) => {
      question += chunk;
    });
    socket.on('end', () => setTimeout(() => socket.end(`heard ${question.length}`), 50));
  });
  const { port } = await relay([slow]);
  assert.equal(await ask(port, 'x'.repeat(100_000)), 'heard 100000');
});

test('a backend may finish answering while the client still sends', async () => {
  let heard = '';
  const early = await backend((socket) => {
    socket.end('bye');
    socket.on('data', (chunk) => {
      heard += chunk;
    });
  });
  const { port } = await relay([early]);
  const client = connect(port);
  client.resume();
  await once(client, 'end');
  client.write('one');
  await delay(30);
  client.end('two');
  await once(client, 'close');
  await until(() => heard === 'onetwo');
});

test('a reset on one side is a reset on the other', async () => {
  const rude = await backend((socket) => socket.once('data', () => socket.resetAndDestroy()));
  const { port, relays } = await relay([rude]);
  const client = connect(port);
  client.write('hello');
  const [error] = (await once(client, 'error')) as [NodeJS.ErrnoException];
  assert.equal(error.code, 'ECONNRESET');
  await until(() => relays.log.openCount === 0);
  assert.equal(relays.log.ended[0]?.outcome, 'reset-by-backend');
});

test('who refuses is passed over, and the connection tells how often', async () => {
  const { port, relays } = await relay([await nobody(), await nobody(), await named('c')]);
  assert.equal(await ask(port), 'c');
  await until(() => relays.log.ended.length === 1);
  assert.equal(relays.log.ended[0]?.failedDials, 2);
});

test('a client leaves a backend that stopped answering, and stays with the next', async () => {
  const { port } = await relay([await nobody(), await named('b'), await named('c')], 'TCP', 60);
  const answers = [];
  for (let i = 0; i < 3; i++) answers.push(await ask(port));
  assert.deepEqual(answers, ['b', 'b', 'b']);
});

test('with nobody to ask, the connection is reset, not ended as if the answer were empty', async () => {
  for (const backends of [[], [await nobody()]]) {
    const { port } = await relay(backends);
    await assert.rejects(ask(port, 'hello?'), { code: 'ECONNRESET' });
  }
});

test('new backends are used at once, on the same port, and open connections stay with the old', async () => {
  const echo = await backend((socket) => socket.pipe(socket));
  const { port, relays, plan } = await relay([echo]);
  const client = connect(port);
  client.write('1');
  assert.equal(String((await once(client, 'data'))[0]), '1');
  await relays.ensure({ ...plan, backends: [await named('new')] }, '127.0.0.1');
  assert.equal(relays.portOf('r'), port);
  assert.equal(await ask(port), 'new');
  client.write('2');
  assert.equal(String((await once(client, 'data'))[0]), '2');
  relays.stop('r');
  client.write('3');
  assert.equal(String((await once(client, 'data'))[0]), '3', 'also when the relay takes no new ones');
  await assert.rejects(ask(port), { code: 'ECONNREFUSED' });
});

test('the log shows who is connected with whom, and how much went which way', async () => {
  const echo = await backend((socket) => socket.pipe(socket));
  const { port, relays } = await relay([echo]);
  const client = connect(port);
  client.write('12345');
  await once(client, 'data');
  const [open] = relays.log.open;
  assert.equal(open?.client, `127.0.0.1:${client.localPort}`);
  assert.deepEqual(
    [open?.service, open?.backend, open?.bytesToBackend, open?.bytesToClient],
    ['shop/web', echo.address, 5, 5],
  );
  client.end();
  await until(() => relays.log.ended.length === 1);
  assert.equal(relays.log.ended[0]?.outcome, 'closed');
});

test('a slow reader holds the sender back instead of filling memory', async () => {
  let sent = 0;
  const endless = await backend((socket) => {
    const chunk = Buffer.alloc(64 * 1024);
    const write = (): void => {
      while (!socket.destroyed && socket.write(chunk)) sent += chunk.length;
      sent += chunk.length;
    };
    socket.on('drain', write);
    write();
  });
  const { port } = await relay([endless]);
  const client = connect(port);
  await once(client, 'connect');
  client.pause();
  let before = -1;
  await until(() => {
    const isStill = sent === before;
    before = sent;
    return isStill && sent > 0;
  }, 300);
  assert.ok(sent < 64 * 1024 * 1024, `${sent} bytes went out to nobody`);
});

test('an exhausted range of ports is an error that names the service', async () => {
  const relays = new Relays({ udpIdleTimeoutMs: 50, portRange: { first: 41_999, last: 41_999 } });
  cleanups.push(() => relays.stopAll());
  const plan = (key: string) =>
    ({ key, service: key, protocol: 'TCP', backends: [], affinityTimeoutSeconds: 0 }) as const;
  await relays.ensure(plan('one'), '127.0.0.1');
  assert.equal(relays.portOf('one'), 41_999);
  await assert.rejects(
    relays.ensure(plan('two'), '127.0.0.1'),
    /start a relay for two: port allocation failed; there are no remaining ports left/,
  );
});

async function udpBackend(name: string): Promise<RelayBackend> {
  const socket = dgram.createSocket('udp4');
  socket.on('message', (data, from) => socket.send(`${name}:${data.length}`, from.port, from.address));
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  cleanups.push(() => socket.close());
  const { port } = socket.address();
  return { ip: '127.0.0.1', port, address: `127.0.0.1:${port}` };
}

function udpClient(port: number) {
  const socket = dgram.createSocket('udp4');
  cleanups.push(() => socket.close());
  return async (data: string | Uint8Array): Promise<string> => {
    socket.send(data, port, '127.0.0.1');
    return String((await once(socket, 'message'))[0]);
  };
}

test('datagrams of one client go to one backend until it has been quiet', async () => {
  const { port, relays } = await relay([await udpBackend('a'), await udpBackend('b')], 'UDP');
  const one = udpClient(port);
  assert.deepEqual([await one('x'), await one('xx')], ['a:1', 'a:2']);
  assert.equal(await udpClient(port)('xxx'), 'b:3');
  await until(() => relays.log.openCount === 0);
  assert.deepEqual(
    relays.log.ended.map(({ outcome }) => outcome),
    ['idle', 'idle'],
  );
  assert.equal(await one('again'), 'a:5');
  assert.equal(await one(Buffer.alloc(60_000)), 'a:60000', 'long datagrams are not cut');
});

test('a UDP backend that refuses is forgotten, and the next datagram goes elsewhere', async () => {
  const gone = await nobody();
  const { port, relays } = await relay([gone, await udpBackend('b')], 'UDP');
  const socket = dgram.createSocket('udp4');
  cleanups.push(() => socket.close());
  socket.send('lost', port, '127.0.0.1');
  await until(() => relays.log.ended.length === 1);
  assert.equal(relays.log.ended[0]?.outcome, 'reset-by-backend');
  socket.send('found', port, '127.0.0.1');
  assert.equal(String((await once(socket, 'message'))[0]), 'b:5');
});

test('relays in threads answer as those in this one, and tell of what they relay', async () => {
  const threads = new RelayThreads({ udpIdleTimeoutMs: 50 }, 2, assert.fail);
  const ended: string[] = [];
  threads.onEnded(({ service, outcome }) => ended.push(`${service} ${outcome}`));
  try {
    const echo = await backend((socket) => socket.pipe(socket));
    for (const service of ['one', 'two', 'three']) {
      const plan = { key: service, service, protocol: 'TCP', backends: [echo], affinityTimeoutSeconds: 0 } as const;
      await threads.ensure(plan, '127.0.0.1');
    }
    assert.equal(threads.size, 3);
    const client = connect(threads.portOf('two')!);
    client.write('hello');
    await once(client, 'data');
    const { open } = await threads.connections();
    assert.deepEqual(
      open.map(({ service, bytesToBackend }) => [service, bytesToBackend]),
      [['two', 5]],
    );
    assert.equal(await ask(threads.portOf('three')!, 'x'), 'x');
    client.end();
    await until(() => ended.length === 2);
    assert.deepEqual(ended.sort(), ['three closed', 'two closed']);
    await assert.rejects(
      threads.ensure(
        { key: 'bad', service: 'bad', protocol: 'TCP', backends: [], affinityTimeoutSeconds: 0 },
        '192.0.2.1',
      ),
      /start a relay for bad: .*EADDRNOTAVAIL/,
    );
  } finally {
    await threads.end();
  }
});

async function until(isTrue: () => boolean, everyMs = 5): Promise<void> {
  for (let i = 0; i < 1000; i++) {
    if (isTrue()) return;
    await delay(everyMs);
  }
  throw new Error('never came true');
}
