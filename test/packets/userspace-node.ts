// Userspace mode in a host of a test network, driven from outside it.
import { once } from 'node:events';
import net from 'node:net';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { HostProcess, Network } from '../../src/lab/network/network.ts';
import type { Manifest } from '../support/golden.ts';
import type { AgentAnswer, AgentCommand } from './userspace-agent.ts';

const PROGRAM = fileURLToPath(new URL('./userspace-agent.ts', import.meta.url));

export class UserspaceNode {
  readonly process: HostProcess;
  readonly #server: net.Server;
  readonly #control: net.Socket;
  readonly #lines: AsyncIterator<string>;
  readonly #reader: Interface;

  static async start(
    network: Network,
    options: { readonly udpIdleTimeoutMs?: number; readonly threads?: number } = {},
  ): Promise<UserspaceNode> {
    const server = net.createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const port = await network.forward('n1', 0, (server.address() as net.AddressInfo).port);
    const argv = [
      process.execPath,
      '--disable-warning=ExperimentalWarning',
      PROGRAM,
      String(port),
      String(options.udpIdleTimeoutMs ?? 250),
      String(options.threads ?? 0),
    ];
    const child = await network.spawnIn('n1', argv);
    child.stderr.pipe(process.stderr);
    const [control] = (await once(server, 'connection')) as [net.Socket];
    return new UserspaceNode(child, server, control);
  }

  private constructor(child: HostProcess, server: net.Server, control: net.Socket) {
    this.process = child;
    this.#server = server;
    this.#control = control;
    this.#reader = createInterface({ input: control });
    this.#lines = this.#reader[Symbol.asyncIterator]();
  }

  async sync(apply: readonly Manifest[], gone: readonly Manifest[] = []): Promise<void> {
    await this.#ask({ kind: 'sync', apply, delete: gone });
  }

  inspect(): Promise<AgentAnswer> {
    return this.#ask({ kind: 'inspect' });
  }

  async cleanUp(): Promise<void> {
    await this.#ask({ kind: 'clean-up' });
  }

  async close(): Promise<void> {
    this.#reader.close();
    this.#control.destroy();
    this.#server.close();
    await this.process.kill('SIGKILL');
  }

  async #ask(command: AgentCommand): Promise<AgentAnswer> {
    this.#control.write(`${JSON.stringify(command)}\n`);
    const { value } = await this.#lines.next();
    const answer = JSON.parse(value as string) as AgentAnswer;
    if (answer.error) throw new Error(answer.error);
    return answer;
  }
}
