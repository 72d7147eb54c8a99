// The first process of a network's sandbox: takes requests from the Network outside, has the world do them, replies. It
// ends when the channel closes, and everything in the sandbox ends with it.
import type { ChildProcessWithoutNullStreams, SendHandle } from 'node:child_process';
import dgram from 'node:dgram';
import { once } from 'node:events';
import net from 'node:net';
import { assertNever } from '../../lib/assert.ts';
import type { Message, Request } from './messages.ts';
import { exitOf } from './processes.ts';
import { World } from './world.ts';

const world = new World();
const children = new Map<number, ChildProcessWithoutNullStreams>();

process.on('disconnect', () => process.exit());
process.on('message', (request: Request) => void handle(request));

async function handle(request: Request): Promise<void> {
  const { id } = request;
  try {
    const { result, handle } = await perform(request);
    say({ kind: 'reply', id, result }, handle);
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    say({ kind: 'refusal', id, message, ...(code && { code }) });
  }
}

async function perform(request: Request): Promise<{ result?: unknown; handle?: SendHandle }> {
  switch (request.kind) {
    case 'add':
      await world.add(request.topology);
      return {};
    case 'remove':
      await world.remove(request.host);
      return {};
    case 'exec':
      return { result: await world.exec(request.command) };
    case 'spawn':
      return { result: await follow(request.process, world.start(request.command)) };
    case 'kill':
      children.get(request.process)?.kill(request.signal);
      return {};
    case 'packets':
      return { result: await world.probePackets(request.probe) };
    case 'page':
      return { result: await world.getPage(request.probe) };
    case 'listen':
      return { handle: world.listen(request) };
    case 'listenUdp':
      return { handle: world.listenUdp(request) };
    case 'connect':
      return { handle: world.connect(request) };
    default:
      return assertNever(request);
  }
}

/** Sends on what a child writes, and its end. */
async function follow(number: number, child: ChildProcessWithoutNullStreams): Promise<number> {
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].on('data', (data: Buffer) => say({ kind: 'output', process: number, stream, data }));
  }
  await once(child, 'spawn');
  children.set(number, child);
  void exitOf(child).then((exit) => {
    children.delete(number);
    say({ kind: 'exit', process: number, ...exit });
  });
  return child.pid!;
}

function say(message: Message, handle?: SendHandle): void {
  if (!process.connected) return;
  process.send!(message, handle, {}, () => {
    // Or its connections and packets would be shared between here and there.
    if (handle instanceof net.Server || handle instanceof dgram.Socket) handle.close();
  });
}
