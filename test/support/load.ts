// Asks addresses as fast as it can, until told to stop, and counts what failed and when. Run as a program in a host it is
// the client; imported, it starts that program and reads its account.
//
// In, as the one argument: a Load as JSON. Out, at SIGTERM or after MAX_SECONDS: an Account as JSON.
import dgram from 'node:dgram';
import net from 'node:net';
import { fileURLToPath } from 'node:url';
import type { HostProcess, Network } from '../../src/lab/network/network.ts';

export interface Load {
  /** `tcp` and `udp`: a new connection, or socket, for every question. `udp-flow`: one socket asks on and on. */
  readonly kind: 'tcp' | 'udp' | 'udp-flow';
  readonly ip: string;
  readonly port: number;
  /** How long an answer over TCP is waited for. */
  readonly timeoutMs?: number;
}

export interface Account {
  readonly asked: number;
  /** Answers by who gave them. */
  readonly answered: Readonly<Record<string, number>>;
  readonly failures: readonly LoadFailure[];
  /** Who answered last. */
  readonly last: string | undefined;
}

export interface LoadFailure {
  /** When it was asked, in milliseconds since 1970. */
  readonly at: number;
  readonly why: string;
}

const MAX_SECONDS = 120;
const IN_FLIGHT = 4;
const TIMEOUT_MS = 3000;
const FLOW_PAUSE_MS = 20;
const QUESTION = 'who?\n';

export class TestLoad {
  readonly #process: HostProcess;
  #text = '';

  static async start(network: Network, host: string, load: Load): Promise<TestLoad> {
    const argv = [process.execPath, '--disable-warning=ExperimentalWarning', fileURLToPath(import.meta.url)];
    const started = await network.spawnIn(host, [...argv, JSON.stringify(load)], { env: process.env });
    const test = new TestLoad(started);
    await new Promise<void>((resolve) => started.stdout.once('data', () => resolve())); // its first answer has come
    return test;
  }

  private constructor(started: HostProcess) {
    this.#process = started;
    for (const stream of [started.stdout, started.stderr])
      stream.on('data', (chunk: Buffer) => {
        this.#text += chunk.toString();
      });
  }

  async stop(): Promise<Account> {
    await this.#process.kill('SIGTERM');
    await this.#process.exited;
    const account = this.#text.split('\n').find((line) => line.startsWith('{'));
    if (!account) throw new Error(`the load gave no account: ${this.#text}`);
    return JSON.parse(account) as Account;
  }
}

/** From the first failed question to the last, in milliseconds. */
export function gapMs({ failures }: Account): number {
  const times = failures.map(({ at }) => at);
  return times.length === 0 ? 0 : Math.max(...times) - Math.min(...times);
}

async function run({ kind, ip, port, timeoutMs = TIMEOUT_MS }: Load): Promise<void> {
  const answered: Record<string, number> = {};
  const failures: LoadFailure[] = [];
  let asked = 0;
  let last: string | undefined;
  let isOver = false;
  const stop = (): void => {
    isOver = true;
  };
  process.on('SIGTERM', stop);
  setTimeout(stop, MAX_SECONDS * 1000).unref();

  const note = async (asking: Promise<string>): Promise<void> => {
    const at = Date.now();
    asked++;
    try {
      const { name } = JSON.parse(await asking) as { name: string };
      if (last === undefined) process.stdout.write('began\n');
      last = name;
      answered[name] = (answered[name] ?? 0) + 1;
    } catch (error) {
      failures.push({ at, why: (error as NodeJS.ErrnoException).code ?? String(error) });
    }
  };
  const askOn = async (ask: () => Promise<string>, pauseMs: number): Promise<void> => {
    while (!isOver) {
      await note(ask());
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };

  if (kind === 'udp-flow') {
    const socket = dgram.createSocket('udp4');
    socket.on('error', () => {}); // a refusal is told to the question that waits
    await new Promise<void>((resolve) => socket.bind(0, resolve));
    await askOn(() => askDatagram(socket, ip, port, 200), FLOW_PAUSE_MS);
    socket.close();
  } else {
    const ask = kind === 'tcp' ? () => askStream(ip, port, timeoutMs) : () => askOnce(ip, port);
    await Promise.all(Array.from({ length: IN_FLIGHT }, () => askOn(ask, 0)));
  }
  const account: Account = { asked, answered, failures, last };
  process.stdout.write(`${JSON.stringify(account)}\n`);
}

export function askStream(ip: string, port: number, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = net.connect(port, ip, () => socket.write(QUESTION));
    const timer = setTimeout(() => socket.destroy(errorWith('ETIMEDOUT')), timeoutMs);
    socket.on('close', () => clearTimeout(timer));
    socket.on('error', reject);
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('end', () => {
      socket.resetAndDestroy(); // no port is left waiting, however many connections there are
      if (text === '') reject(errorWith('ECONNRESET'));
      else resolve(text);
    });
  });
}

export async function askOnce(ip: string, port: number): Promise<string> {
  const socket = dgram.createSocket('udp4');
  try {
    return await askDatagram(socket, ip, port, TIMEOUT_MS);
  } finally {
    socket.close();
  }
}

export function askDatagram(socket: dgram.Socket, ip: string, port: number, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => done(() => reject(errorWith('ETIMEDOUT'))), timeoutMs);
    const onMessage = (message: Buffer): void => done(() => resolve(message.toString()));
    const onError = (error: Error): void => done(() => reject(error));
    const done = (settle: () => void): void => {
      clearTimeout(timer);
      socket.off('message', onMessage).off('error', onError);
      settle();
    };
    socket.on('message', onMessage).on('error', onError);
    socket.send(QUESTION, port, ip, (error) => error && onError(error));
  });
}

function errorWith(code: string): Error {
  return Object.assign(new Error(code), { code });
}

if (import.meta.main) await run(JSON.parse(process.argv[2] ?? '') as Load);
