// Clients and servers that strain a relay, to be run in hosts of a test network. Each prints one line of JSON.
//   source PORT BYTES      sends so many bytes to whoever connects, and never reads
//   fetch IP PORT          reads to the end: how much, and its hash
//   hold IP PORT COUNT     opens so many connections, says so, and asks over each when it is told to by SIGUSR2
//   idle IP PORT COUNT     opens so many connections and reads nothing
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import { Readable } from 'node:stream';

const CHUNK = Buffer.from(Array.from({ length: 1 << 16 }, (_, i) => (i * 31 + (i >> 8)) & 0xff));

/** The hash of what `source` sends. */
export function hashOf(bytes: number): string {
  const hash = createHash('sha256');
  for (const piece of pieces(bytes)) hash.update(piece);
  return hash.digest('hex');
}

function* pieces(bytes: number): Generator<Uint8Array> {
  for (let left = bytes; left > 0; left -= CHUNK.length) yield CHUNK.subarray(0, Math.min(left, CHUNK.length));
}

async function source(port: number, bytes: number): Promise<void> {
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    Readable.from(pieces(bytes)).pipe(socket);
  });
  server.listen(port);
  await once(server, 'listening');
  console.log('{"isListening":true}');
}

async function fetch(ip: string, port: number): Promise<void> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of net.connect(port, ip)) {
    hash.update(chunk as Uint8Array);
    bytes += (chunk as Uint8Array).length;
  }
  console.log(JSON.stringify({ bytes, hash: hash.digest('hex') }));
}

async function hold(ip: string, port: number, count: number): Promise<void> {
  const sockets: net.Socket[] = [];
  // A wave at a time, so that no queue of the kernel overflows.
  while (sockets.length < count) {
    const wave = Array.from({ length: Math.min(250, count - sockets.length) }, () => net.connect(port, ip));
    await Promise.all(wave.map((socket) => once(socket, 'connect')));
    sockets.push(...wave);
  }
  const told = once(process, 'SIGUSR2');
  console.log(`{"connected":${sockets.length}}`);
  await told;
  const answers = await Promise.all(
    sockets.map(async (socket) => {
      socket.write('who?\n');
      let text = '';
      for await (const chunk of socket) text += chunk;
      return (JSON.parse(text) as { name: string }).name;
    }),
  );
  const shares = Object.fromEntries([...Map.groupBy(answers, (name) => name)].map(([name, of]) => [name, of.length]));
  console.log(JSON.stringify({ shares }));
}

async function idle(ip: string, port: number, count: number): Promise<void> {
  const sockets = Array.from({ length: count }, () => net.connect(port, ip).pause());
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  console.log(`{"connected":${sockets.length}}`);
  await new Promise((resolve) => setTimeout(resolve, 3_600_000));
}

if (import.meta.main) {
  const [role, first = '', second = '', third = ''] = process.argv.slice(2);
  if (role === 'source') await source(Number(first), Number(second));
  else if (role === 'fetch') await fetch(first, Number(second));
  else if (role === 'hold') await hold(first, Number(second), Number(third));
  else if (role === 'idle') await idle(first, Number(second), Number(third));
}
