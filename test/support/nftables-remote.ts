// The near end of nftables-host.ts: nftables mode at work in a host of a test network.
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { golden as goldenTopology } from '../../src/lab/network/golden.ts';
import { type HostProcess, Network } from '../../src/lab/network/network.ts';
import type { HostAnswer, HostCommand } from './nftables-host.ts';

const PROGRAM = fileURLToPath(new URL('nftables-host.ts', import.meta.url));
const PORT = 19_999;

export class NftablesRemote {
  readonly #process: HostProcess;
  readonly #socket: Socket;
  readonly #lines: AsyncIterator<string>;

  static async start(network: Network, host: string): Promise<NftablesRemote> {
    const process = await network.spawnIn(host, [globalThis.process.execPath, PROGRAM, String(PORT)]);
    process.stderr.pipe(globalThis.process.stderr);
    await once(process.stdout, 'data');
    return new NftablesRemote(process, await network.connect(host, '127.0.0.1', PORT));
  }

  private constructor(process: HostProcess, socket: Socket) {
    this.#process = process;
    this.#socket = socket;
    this.#lines = createInterface(socket)[Symbol.asyncIterator]();
  }

  /** Resolves when the kernel holds what follows from the command. */
  async tell(command: HostCommand): Promise<void> {
    this.#socket.write(`${JSON.stringify(command)}\n`);
    const { value } = await this.#lines.next();
    const answer = JSON.parse(value as string) as HostAnswer;
    if (answer.error) throw new Error(answer.error);
  }

  async stop(): Promise<void> {
    this.#socket.destroy();
    await this.#process.kill();
    await this.#process.exited;
  }
}

export interface NftablesBed {
  readonly network: Network;
  readonly remote: NftablesRemote;
}

/** The network of the recorded clusters with nftables mode at work on n1, while the tests of this suite run. */
export function nftablesBed(): NftablesBed {
  const bed: { network?: Network; remote?: NftablesRemote } = {};
  before(async () => {
    bed.network = await Network.open(goldenTopology);
    bed.remote = await NftablesRemote.start(bed.network, 'n1');
  });
  after(async () => {
    await bed.remote?.stop();
    await bed.network?.close();
  });
  return bed as NftablesBed;
}
