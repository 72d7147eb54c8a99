// A network of hosts on this machine, apart from everything else on it. In: a Topology. Out: programs run in its hosts,
// questions asked from them, sockets opened in them. Closing it, or the end of this process, leaves nothing behind.
import type { ChildProcess, SendHandle } from 'node:child_process';
import type dgram from 'node:dgram';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { extname } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { assertNever } from '../../lib/assert.ts';
import { spawnInSandbox } from '../sandbox.ts';
import type { Calls, Command, ExecResult, Exit, Message } from './messages.ts';
import type { PageProbe, PageResult } from './page.ts';
import type { PacketProbe, PacketResult } from './probe.ts';
import type { Topology } from './topology.ts';

export type Probe = PacketProbe | PageProbe;
export type ProbeResult = PacketResult | PageResult;

export type CommandOptions = Omit<Command, 'host' | 'argv'>;

/** A program running in a host. */
export interface HostProcess {
  /** Its number inside the sandbox, for /proc and kill there. */
  readonly pid: number;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exited: Promise<Exit>;
  kill(signal?: NodeJS.Signals): Promise<void>;
}

interface Waiting {
  readonly resolve: (result: unknown, handle: SendHandle | undefined) => void;
  readonly reject: (error: Error) => void;
}

interface Followed {
  readonly stdout: PassThrough;
  readonly stderr: PassThrough;
  readonly onExit: (exit: Exit) => void;
}

export class Network {
  readonly #inside: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #waiting = new Map<number, Waiting>();
  readonly #followed = new Map<number, Followed>();
  readonly #servers = new Set<net.Server>();
  readonly #sockets = new Set<net.Socket>();
  #lastNumber = 0;

  static async open(topology: Topology): Promise<Network> {
    const network = new Network();
    try {
      await network.add(topology);
      return network;
    } catch (error) {
      await network.close();
      throw error;
    }
  }

  private constructor() {
    // Beside this file, and in the same language: TypeScript in the source, JavaScript in a bundle.
    const program = fileURLToPath(new URL(`./inside${extname(import.meta.url)}`, import.meta.url));
    this.#inside = spawnInSandbox([process.execPath, '--disable-warning=ExperimentalWarning', program], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      serialization: 'advanced',
      detached: true, // Ctrl-C is for us; the sandbox ends when we say so, or die
    });
    // Where it could not be started there is an error and no exit.
    this.#ended = new Promise((resolve) => this.#inside.once('exit', resolve).once('error', resolve));
    this.#inside.on('message', (message: Message, handle) => this.#hear(message, handle));
    this.#inside.on('error', (error) => this.#refuseAll(error));
    this.#inside.on('exit', () => this.#refuseAll(new Error('the network is closed')));
  }

  /** Resolves when the network is gone, whoever ended it. */
  get ended(): Promise<unknown> {
    return this.#ended;
  }

  /** The first process of the sandbox as this machine numbers it: the way in for nsenter. */
  get pid(): number {
    const { pid } = this.#inside;
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ')[0]);
  }

  /** Adds hosts and cables, also to hosts that are there. */
  async add(topology: Topology): Promise<void> {
    await this.#call('add', { topology });
  }

  /** Ends a host: its servers, its programs, its cables. */
  async remove(host: string): Promise<void> {
    await this.#call('remove', { host });
  }

  /** Runs a program in a host to its end. */
  exec(host: string, argv: readonly string[], options: CommandOptions = {}): Promise<ExecResult> {
    return this.#call('exec', { command: { host, argv, ...options } });
  }

  /** Starts a program in a host and leaves it running. */
  async spawnIn(host: string, argv: readonly string[], options: CommandOptions = {}): Promise<HostProcess> {
    const process = ++this.#lastNumber;
    const stdout = new PassThrough();
    const stderr = new PassThrough();
    const exited = new Promise<Exit>((onExit) => this.#followed.set(process, { stdout, stderr, onExit }));
    const pid = await this.#call('spawn', { process, command: { host, argv, ...options } }).catch((error: Error) => {
      this.#followed.delete(process);
      throw error;
    });
    const kill = async (signal: NodeJS.Signals = 'SIGTERM') => {
      await this.#call('kill', { process, signal });
    };
    return { pid, stdout, stderr, exited, kill };
  }

  probe(probe: PacketProbe): Promise<PacketResult>;
  probe(probe: PageProbe): Promise<PageResult>;
  probe(probe: Probe): Promise<ProbeResult>;
  probe(probe: Probe): Promise<ProbeResult> {
    return 'http' in probe ? this.#call('page', { probe }) : this.#call('packets', { probe });
  }

  /** Listens in a host; its connections arrive here, as `httpServer.emit('connection', socket)` likes them. Resolves to
   *  the port, which the kernel chooses where 0 is asked for. */
  async listen(host: string, ip: string, port: number, onConnection: (socket: net.Socket) => void): Promise<number> {
    return (await this.serve(host, ip, port, onConnection)).port;
  }

  /** As `listen`, for a server that ends before the network does. */
  async serve(
    host: string,
    ip: string,
    port: number,
    onConnection: (socket: net.Socket) => void,
  ): Promise<{ readonly port: number; close(): void }> {
    const server = (await this.#callForHandle('listen', { host, ip, port })) as net.Server;
    this.#servers.add(server);
    server.on('connection', (socket: net.Socket) => onConnection(this.#kept(socket)));
    const close = () => {
      this.#servers.delete(server);
      server.close();
    };
    return { port: (server.address() as net.AddressInfo).port, close };
  }

  /** A datagram socket bound in a host, in our hands. Its owner closes it. */
  async listenUdp(host: string, ip: string, port: number): Promise<dgram.Socket> {
    return (await this.#callForHandle('listenUdp', { host, ip, port })) as dgram.Socket;
  }

  /** Listens on a host, on its loopback unless told otherwise, and leads each connection to a port of this machine's
   *  loopback. */
  forward(host: string, port: number, toPort: number, ip = '127.0.0.1'): Promise<number> {
    return this.listen(host, ip, port, (near) => {
      const far = net.connect(toPort, '127.0.0.1');
      near.pipe(far).pipe(near);
      near.on('error', () => far.destroy());
      far.on('error', () => near.destroy());
      near.on('close', () => far.destroy());
    });
  }

  /** A connection made in a host, in our hands. That it failed is known by its `error` event. */
  async connect(host: string, ip: string, port: number): Promise<net.Socket> {
    return this.#kept((await this.#callForHandle('connect', { host, ip, port })) as net.Socket);
  }

  /** Until the network ends, and no longer: whoever was at the other end cannot say any more that it is gone. */
  #kept(socket: net.Socket): net.Socket {
    this.#sockets.add(socket);
    return socket.once('close', () => this.#sockets.delete(socket));
  }

  /** Resolves when everything in the network is gone. */
  async close(): Promise<void> {
    for (const server of this.#servers) server.close();
    this.#servers.clear();
    for (const socket of this.#sockets) socket.destroy();
    if (this.#inside.connected) this.#inside.disconnect();
    const mercy = setTimeout(() => this.#inside.kill('SIGKILL'), 5000);
    await this.#ended;
    clearTimeout(mercy);
  }

  #call<Kind extends keyof Calls>(kind: Kind, asks: Calls[Kind]['asks']): Promise<Calls[Kind]['gets']> {
    return new Promise((resolve, reject) => {
      this.#ask(kind, asks, { resolve: (result) => resolve(result as Calls[Kind]['gets']), reject });
    });
  }

  #callForHandle<Kind extends 'listen' | 'listenUdp' | 'connect'>(
    kind: Kind,
    asks: Calls[Kind]['asks'],
  ): Promise<SendHandle> {
    return new Promise((resolve, reject) => {
      const take = (_result: unknown, handle: SendHandle | undefined): void =>
        handle ? resolve(handle) : reject(new Error(`a socket was lost on its way here (${kind})`));
      this.#ask(kind, asks, { resolve: take, reject });
    });
  }

  #ask(kind: keyof Calls, asks: object, waiting: Waiting): void {
    if (!this.#inside.connected) {
      waiting.reject(new Error('the network is closed'));
      return;
    }
    const id = ++this.#lastNumber;
    this.#waiting.set(id, waiting);
    this.#inside.send({ id, kind, ...asks });
  }

  #hear(message: Message, handle: SendHandle | undefined): void {
    switch (message.kind) {
      case 'reply':
        this.#take(message.id)?.resolve(message.result, handle);
        return;
      case 'refusal':
        this.#take(message.id)?.reject(Object.assign(new Error(message.message), { code: message.code }));
        return;
      case 'output':
        this.#followed.get(message.process)?.[message.stream].write(message.data);
        return;
      case 'exit':
        this.#finish(message.process, message);
        return;
      default:
        assertNever(message);
    }
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  #finish(process: number, { status, signal }: Exit): void {
    const followed = this.#followed.get(process);
    this.#followed.delete(process);
    followed?.stdout.end();
    followed?.stderr.end();
    followed?.onExit({ status, signal });
  }

  /** Nobody waits for a network that is gone; programs in it were killed. */
  #refuseAll(error: Error): void {
    for (const id of [...this.#waiting.keys()]) this.#take(id)?.reject(error);
    for (const process of [...this.#followed.keys()]) this.#finish(process, { status: null, signal: 'SIGKILL' });
  }
}
