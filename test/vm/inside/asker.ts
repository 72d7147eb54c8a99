// Asks several addresses in turn, over and over, until told to stop. Run as a program in a host it is the client: in, as the one
// argument, its targets as JSON; out, a line of JSON for each question. Imported, it starts that program and keeps the account.
import dgram from 'node:dgram';
import { fileURLToPath } from 'node:url';
import type { HostProcess, Network } from '../../../src/lab/network/network.ts';
import { askDatagram, askOnce, askStream } from '../../support/load.ts';

export interface AskedTarget {
  /** `udp-flow`: one socket asks on and on. */
  readonly kind: 'tcp' | 'udp' | 'udp-flow';
  readonly ip: string;
  readonly port: number;
}

interface Asked {
  readonly to: string;
  readonly at: number;
  readonly failure?: string;
}

const PAUSE_MS = 250; // an emulated machine has other things to do as well
const TIMEOUT_MS = 8000; // it may also be slow; who is led astray waits in vain however long

/** Clients in several hosts of a network. */
export class Askers {
  readonly #processes: HostProcess[];
  readonly #asked: Asked[] = [];

  static async start(network: Network, byHost: Readonly<Record<string, readonly AskedTarget[]>>): Promise<Askers> {
    const argv = [process.execPath, '--disable-warning=ExperimentalWarning', fileURLToPath(import.meta.url)];
    const started = Object.entries(byHost).map(([host, targets]) =>
      network.spawnIn(host, [...argv, JSON.stringify({ host, targets })], { env: process.env }),
    );
    return new Askers(await Promise.all(started));
  }

  private constructor(processes: HostProcess[]) {
    this.#processes = processes;
    for (const { stdout } of processes) {
      let rest = '';
      stdout.on('data', (chunk: Buffer) => {
        const lines = (rest + chunk.toString()).split('\n');
        rest = lines.pop()!;
        this.#asked.push(...lines.map((line) => JSON.parse(line) as Asked));
      });
    }
  }

  /** Since a time, in milliseconds since 1970: how much was asked, and what failed. */
  since(from: number): { readonly total: number; readonly failures: readonly string[] } {
    const recent = this.#asked.filter(({ at }) => at >= from);
    const failures = recent.flatMap(({ to, at, failure }) =>
      failure === undefined ? [] : [`${to} after ${at - from} ms: ${failure}`],
    );
    return { total: recent.length, failures };
  }

  /** Whether every target has been answered since a time. */
  isAnsweredSince(from: number, targets: number): boolean {
    const answered = this.#asked.filter(({ at, failure }) => at >= from && failure === undefined).map(({ to }) => to);
    return new Set(answered).size === targets;
  }

  async stop(): Promise<void> {
    for (const each of this.#processes) await each.kill('SIGTERM');
    await Promise.all(this.#processes.map(({ exited }) => exited));
  }
}

async function ask(host: string, target: AskedTarget): Promise<void> {
  const to = `${host} ${target.kind} ${target.ip} ${target.port}`;
  const question = questionOf(target);
  for (;;) {
    const at = Date.now();
    const failure = await question().then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error.code ?? String(error),
    );
    process.stdout.write(`${JSON.stringify({ to, at, failure } satisfies Record<keyof Asked, unknown>)}\n`);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

function questionOf({ kind, ip, port }: AskedTarget): () => Promise<string> {
  if (kind === 'tcp') return () => askStream(ip, port, TIMEOUT_MS);
  if (kind === 'udp') return () => askOnce(ip, port);
  const socket = dgram.createSocket('udp4');
  socket.on('error', () => {}); // a refusal is told to the question that waits
  return () => askDatagram(socket, ip, port, TIMEOUT_MS);
}

/**
 * What nobody can spare clients when IPVS mode is left:
 * - a connection of the node to a Service has the Service's address as its source while that is an address of the node. One that begins
 *   after the new rules stand and before that address goes cannot be answered any more, and nobody can tell it from others;
 * - a datagram whose answer is under way when its flow is forgotten: one for each client.
 */
export function withoutExcused(failures: readonly string[]): readonly string[] {
  const lost = new Set<string>();
  return failures.filter((failure) => {
    const [client = '', kind = '', ip = ''] = failure.split(' ');
    const target = [client, kind, ip].join(' ');
    if (client === 'n1' || (kind.startsWith('udp') && !lost.has(target))) {
      lost.add(target);
      return false;
    }
    return true;
  });
}

if (import.meta.main) {
  const { host, targets } = JSON.parse(process.argv[2] ?? '') as { host: string; targets: AskedTarget[] };
  await Promise.all(targets.map((target) => ask(host, target)));
}
